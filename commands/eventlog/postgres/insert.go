package postgres

import (
	"fmt"
	"strings"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/internal/admit"
)

// The statement that writes has three parts: it moves the head row if that is
// where it is expected, and only then names new streams and adds events. One
// statement is one trip and one transaction; it affects no rows otherwise.
const (
	fence = `WITH fence AS (
	UPDATE head SET position = $3, recorded_at = $4, chain = $5 WHERE position = $1 AND chain = $2 RETURNING 1
)`
	named = `, named AS (
	INSERT INTO streams (id, name) SELECT * FROM %s WHERE EXISTS (SELECT FROM fence)
)`
	added = `
INSERT INTO events (position, stream, version, id, word, revision, recorded_at, envelope, data, link)
SELECT * FROM %s WHERE EXISTS (SELECT FROM fence)`
)

// Mostly there is one event, and nobody else to share the trip's price: its
// text is not put together anew, its plan has the fewest steps, and no value is
// sent twice. The head row takes the event's position, time and hash.
const (
	loneFence = `WITH fence AS (
	UPDATE head SET position = $2, recorded_at = $8, chain = $11 WHERE position = $2::bigint - 1 AND chain = $1 RETURNING 1
)`
	loneNamed = `, named AS (
	INSERT INTO streams (id, name) SELECT $3::bigint, $12::bytea FROM fence
)`
	loneAdded = `
INSERT INTO events (position, stream, version, id, word, revision, recorded_at, envelope, data, link)
SELECT $2::bigint, $3::bigint, $4::bigint, $5::bytea, $6::text, $7::bigint, $8::bigint, $9::bytea, $10::bytea, $11::bytea FROM fence`
	lone    = loneFence + loneAdded
	loneNew = loneFence + loneNamed + loneAdded // and the first of its stream
)

// few is up to how many events a statement spells out one by one: PostgreSQL
// takes twice as long to unpack arrays that hold hardly anything.
const few = 8

// The types of what goes into the tables.
var (
	streamTypes = []string{"bigint", "bytea"}
	eventTypes  = []string{"bigint", "bigint", "bigint", "bytea", "text", "bigint", "bigint", "bytea", "bytea", "bytea"}
)

// columns are what appends add to the tables, a slice a column.
type columns struct {
	newID   []int64
	newName [][]byte

	position, stream, version []int64
	id                        [][]byte
	word                      []string
	revision, recorded        []int64
	envelope, data, link      [][]byte
}

// statement is the text and the arguments that write the columns and move the
// head row.
func (c *columns) statement(from, to commands.Head) (string, []any) {
	if len(c.id) == 1 {
		return c.lone(from)
	}
	args := []any{int64(from.Position), from.Chain[:], int64(to.Position), to.At.UnixNano(), to.Chain[:]}
	query := fence
	if len(c.newID) > 0 {
		query += fmt.Sprintf(named, source(len(c.newID), len(args), streamTypes))
		args = pass(args, len(c.newID), func(i int) []any { return []any{c.newID[i], c.newName[i]} }, c.newID, c.newName)
	}
	query += fmt.Sprintf(added, source(len(c.id), len(args), eventTypes))
	return query, pass(args, len(c.id), c.event, c.position, c.stream, c.version, c.id, c.word, c.revision, c.recorded, c.envelope, c.data, c.link)
}

// lone is the statement of one event, which moves the head row by one.
func (c *columns) lone(from commands.Head) (string, []any) {
	args := append([]any{from.Chain[:]}, c.event(0)...)
	if len(c.newID) > 0 {
		return loneNew, append(args, c.newName[0])
	}
	return lone, args
}

// event is one event's columns in the order of the table.
func (c *columns) event(i int) []any {
	return []any{c.position[i], c.stream[i], c.version[i], c.id[i], c.word[i], c.revision[i], c.recorded[i], c.envelope[i], c.data[i], c.link[i]}
}

// source is n rows as a table, from arguments after the first few: each value
// an argument, or, if there are many, each column one.
func source(n, after int, types []string) string {
	var b strings.Builder
	if n > few {
		columns := make([]string, len(types))
		for i, t := range types {
			columns[i] = t + "[]"
		}
		return "unnest(" + values(after, columns) + ") AS v"
	}
	b.WriteString("(VALUES ")
	for row := range n {
		if row > 0 {
			b.WriteString(", ")
		}
		b.WriteString("(" + values(after+row*len(types), types) + ")")
	}
	b.WriteString(") AS v")
	return b.String()
}

// values is one row, from arguments after the first few.
func values(after int, types []string) string {
	var b strings.Builder
	for i, t := range types {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d::%s", after+i+1, t)
	}
	return b.String()
}

// pass adds n rows to arguments as source has them.
func pass(args []any, n int, row func(int) []any, whole ...any) []any {
	if n > few {
		return append(args, whole...)
	}
	for i := range n {
		args = append(args, row(i)...)
	}
	return args
}

// columns spells appends out. A stream nobody wrote to has the position of its
// first event as its id.
func (w *writer) columns(appends []*admit.Append) *columns {
	c := new(columns)
	fresh := make(map[string]int64)
	for _, a := range appends {
		for _, write := range a.Writes {
			if len(write.Rows) == 0 {
				continue
			}
			id := w.streams[write.Name].id
			if id == 0 {
				id = fresh[write.Name]
			}
			if id == 0 {
				id = int64(write.Rows[0].Position)
				fresh[write.Name] = id
				c.newID, c.newName = append(c.newID, id), append(c.newName, []byte(write.Name))
			}
			for i := range write.Rows {
				c.add(id, &write.Rows[i])
			}
		}
	}
	return c
}

func (c *columns) add(stream int64, r *chain.Row) {
	c.position = append(c.position, int64(r.Position))
	c.stream = append(c.stream, stream)
	c.version = append(c.version, int64(r.Version))
	c.id = append(c.id, []byte(r.ID))
	c.word = append(c.word, r.Word)
	c.revision = append(c.revision, int64(r.Revision))
	c.recorded = append(c.recorded, r.At.UnixNano())
	c.envelope = append(c.envelope, r.Text)
	c.data = append(c.data, r.Data)
	c.link = append(c.link, r.Link[:])
}
