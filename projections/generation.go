package projections

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"assent/domain"
)

// generation is one set of the tables, named by number, with its checkpoint.
type generation struct {
	number      int64
	fingerprint string
	db          *sql.DB // written by whoever holds the checkpoint
	reads       *sql.DB
	tables      []table
	names       *strings.Replacer // {items} becomes items_1

	statements map[string]statements // of a table; nil while nothing is written to it
	asked      sync.Map              // text of a question → its *sql.Stmt
}

// statements are how a table is read and written, by the length of a portion.
type statements struct{ load, save, drop [len(portions)]*sql.Stmt }

// checkpoint is where a generation is, as its own row says. The event is the
// last one folded; before is the position of the one before that, so that the
// log can be asked for exactly that event.
type checkpoint struct {
	generation  int64
	fingerprint string
	position    domain.Position
	before      domain.Position
	event       domain.ID
	at          int64 // log time of the event, in nanoseconds
	events      int64 // how many were folded
	swapped     int64 // which swap made it live; 0: none yet. The highest is live
	moved       int64 // when it was last written, in nanoseconds
}

const checkpointColumns = `generation, fingerprint, position, before, event, at, events, swapped, moved`

const checkpointTable = `CREATE TABLE IF NOT EXISTS checkpoint (generation BIGINT PRIMARY KEY, fingerprint TEXT NOT NULL,
	position BIGINT NOT NULL, before BIGINT NOT NULL, event TEXT NOT NULL, at BIGINT NOT NULL, events BIGINT NOT NULL, swapped BIGINT NOT NULL, moved BIGINT NOT NULL)`

// built says that its tables are whole: they were folded up to somewhere, or
// made live while there was nothing to fold.
func (c checkpoint) built() bool { return c.position > 0 || c.swapped > 0 }

// next is the checkpoint after more records.
func (c checkpoint) next(records []domain.Record, now time.Time) checkpoint {
	last := records[len(records)-1]
	c.before = c.position
	if len(records) > 1 {
		c.before = records[len(records)-2].Position
	}
	c.position, c.event, c.at = last.Position, last.ID, last.At.UnixNano()
	c.events += int64(len(records))
	c.moved = now.UnixNano()
	return c
}

// queryer is a database, a connection or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// checkpoints are those of a query over that table.
func checkpoints(ctx context.Context, q queryer, more string, args ...any) ([]checkpoint, error) {
	rows, err := q.QueryContext(ctx, `SELECT `+checkpointColumns+` FROM checkpoint `+more, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []checkpoint
	for rows.Next() {
		var c checkpoint
		if err := rows.Scan(&c.generation, &c.fingerprint, &c.position, &c.before, &c.event, &c.at, &c.events, &c.swapped, &c.moved); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, rows.Err()
}

const putCheckpoint = `INSERT INTO checkpoint (` + checkpointColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
	ON CONFLICT (generation) DO UPDATE SET position = EXCLUDED.position, before = EXCLUDED.before, event = EXCLUDED.event,
		at = EXCLUDED.at, events = EXCLUDED.events, swapped = EXCLUDED.swapped, moved = EXCLUDED.moved`

// values are a checkpoint in the order of its columns.
func (c checkpoint) values() []any {
	return []any{c.generation, c.fingerprint, int64(c.position), int64(c.before), string(c.event), c.at, c.events, c.swapped, c.moved}
}

// put writes a checkpoint.
func (c checkpoint) put(ctx context.Context, q queryer) error {
	_, err := q.ExecContext(ctx, putCheckpoint, c.values()...)
	return err
}

// newGeneration names the tables of a number.
func (s *Store) newGeneration(number int64, fingerprint string, db, reads *sql.DB) *generation {
	var pairs []string
	for _, t := range s.tables {
		pairs = append(pairs, "{"+t.name+"}", tableName(t.name, number))
	}
	return &generation{number: number, fingerprint: fingerprint, db: db, reads: reads, tables: s.tables, names: strings.NewReplacer(pairs...)}
}

func tableName(table string, number int64) string {
	return table + "_" + strconv.FormatInt(number, 10)
}

// sql is a statement with its tables named.
func (g *generation) sql(text string) string { return g.names.Replace(text) }

// ask prepares a question once: there are only so many texts, and reading one
// costs more than most answers.
func (g *generation) ask(ctx context.Context, text string) (*sql.Stmt, error) {
	text = g.sql(text)
	if stmt, ok := g.asked.Load(text); ok {
		return stmt.(*sql.Stmt), nil
	}
	stmt, err := g.reads.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	other, twice := g.asked.LoadOrStore(text, stmt)
	if twice {
		_ = stmt.Close() // another was faster
	}
	return other.(*sql.Stmt), nil
}

// prepare makes it ready to be written to.
func (g *generation) prepare(ctx context.Context, all []table, spelled func(string) string) error {
	if g.statements != nil {
		return nil
	}
	made := map[string]statements{}
	for _, t := range all {
		var st statements
		for i, n := range portions {
			for _, p := range []struct {
				into *[len(portions)]*sql.Stmt
				text string
			}{{&st.load, t.selectKeys(n)}, {&st.save, t.upsert(n)}, {&st.drop, t.deleteKeys(n)}} {
				stmt, err := g.db.PrepareContext(ctx, g.sql(spelled(p.text)))
				if err != nil {
					return fmt.Errorf("prepare %s: %w", t.name, err)
				}
				p.into[i] = stmt
			}
		}
		made[t.name] = st
	}
	g.statements = made
	return nil
}

// forget lets go of what was prepared.
func (g *generation) forget() {
	g.asked.Range(func(text, stmt any) bool {
		g.asked.Delete(text)
		_ = stmt.(*sql.Stmt).Close()
		return true
	})
	for _, st := range g.statements {
		for _, list := range [][len(portions)]*sql.Stmt{st.load, st.save, st.drop} {
			for _, stmt := range list {
				_ = stmt.Close()
			}
		}
	}
}

// tables and indexes in SQL. The index of keys is one of its own, because a
// rebuild makes it when the rows are there.

func (t table) create(textType string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `CREATE TABLE {%s} (key %s NOT NULL, workspace %[2]s NOT NULL, doc %[2]s NOT NULL`, t.name, textType)
	for _, c := range t.columns {
		kind := c.kind
		if kind == "TEXT" {
			kind = textType
		}
		b.WriteString(", " + c.name + " " + kind + " NOT NULL")
	}
	if t.aside {
		b.WriteString(", body " + textType + " NOT NULL")
	}
	return b.String() + ")"
}

func (t table) createKey() string {
	return `CREATE UNIQUE INDEX {` + t.name + `}_by_key ON {` + t.name + `} (key)`
}

func (t table) createIndexes() []string {
	var list []string
	for i, index := range t.indexes {
		on, some, _ := strings.Cut(index, " WHERE ")
		if some != "" {
			some = " WHERE " + some
		}
		list = append(list, fmt.Sprintf(`CREATE INDEX {%s}_by_%d ON {%s} (%s)%s`, t.name, i+1, t.name, on, some))
	}
	return list
}

// fingerprint is what must be the same for tables to be kept.
func fingerprint(all []table) string {
	h := sha256.New()
	for _, t := range all {
		fmt.Fprintf(h, "%s %d %q %q %q\n", t.name, t.version, t.create("TEXT"), t.createKey(), t.createIndexes())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fields are a table's columns in the order of a line.
func (t table) fields() []string {
	list := []string{"key", "workspace", "doc"}
	for _, c := range t.columns {
		list = append(list, c.name)
	}
	if t.aside {
		list = append(list, "body")
	}
	return list
}

// line is a row as the database keeps it, in the order of fields.
func (t table) line(key string, value any) ([]any, error) {
	doc, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("spell %s %s: %w", t.name, key, err)
	}
	line := append([]any{key, workspaceOf(key), string(doc)}, t.values(value)...)
	if t.aside {
		line = append(line, t.text(value))
	}
	for i, v := range line {
		if s, ok := v.(string); ok {
			line[i] = storable(s)
		}
	}
	return line, nil
}

// storable writes a text so that every database takes it: PostgreSQL has no
// text with a zero byte. Other texts stay as they are.
func storable(s string) string {
	if !strings.ContainsAny(s, "\x00\x01") {
		return s
	}
	return strings.NewReplacer("\x00", "\x010", "\x01", "\x011").Replace(s)
}

// original reads a text that storable wrote.
func original(s string) string {
	if strings.IndexByte(s, 1) < 0 {
		return s
	}
	return strings.NewReplacer("\x010", "\x00", "\x011", "\x01").Replace(s)
}

// portions are how many rows one statement takes: of the most first. Their
// statements are prepared once each.
var portions = [...]int{64, 8, 1}

// inPortions cuts a list so that every part is as long as one of portions, and
// says which one.
func inPortions[T any](list []T, do func(portion int, part []T) error) error {
	for i, n := range portions {
		for ; len(list) >= n; list = list[n:] {
			if err := do(i, list[:n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// marks are groups of placeholders, numbered from 1: ($1, $2), ($3, $4).
func marks(groups, each int) string {
	var b strings.Builder
	for i := range groups * each {
		switch {
		case i == 0:
			b.WriteString("(")
		case i%each == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		b.WriteString("$" + strconv.Itoa(i+1))
	}
	return b.String() + ")"
}

// positional marks the values of a statement by their place alone. To SQLite
// $1 is a name, and each name of a statement is looked for when it is bound.
func positional(text string) string { return numbered.ReplaceAllString(text, "?") }

var numbered = regexp.MustCompile(`\$[0-9]+`)

func (t table) insert(lines int) string {
	fields := t.fields()
	return `INSERT INTO {` + t.name + `} (` + strings.Join(fields, ", ") + `) VALUES ` + marks(lines, len(fields))
}

func (t table) upsert(lines int) string {
	var sets []string
	for _, name := range t.fields()[1:] {
		sets = append(sets, name+" = EXCLUDED."+name)
	}
	return t.insert(lines) + ` ON CONFLICT (key) DO UPDATE SET ` + strings.Join(sets, ", ")
}

func (t table) deleteKeys(n int) string {
	return `DELETE FROM {` + t.name + `} WHERE key IN ` + marks(1, n)
}

func (t table) selectKeys(n int) string {
	columns := "key, doc, ''"
	if t.aside {
		columns = "key, doc, body"
	}
	return `SELECT ` + columns + ` FROM {` + t.name + `} WHERE key IN ` + marks(1, n)
}

// save writes lines of a table over what is there.
func (g *generation) save(ctx context.Context, tx *sql.Tx, t table, lines [][]any) error {
	return inPortions(lines, func(portion int, lines [][]any) error {
		var args []any
		for _, line := range lines {
			args = append(args, line...)
		}
		_, err := tx.StmtContext(ctx, g.statements[t.name].save[portion]).ExecContext(ctx, args...)
		return err
	})
}

// remove takes rows out of a table.
func (g *generation) remove(ctx context.Context, tx *sql.Tx, t table, keys []any) error {
	return inPortions(keys, func(portion int, keys []any) error {
		_, err := tx.StmtContext(ctx, g.statements[t.name].drop[portion]).ExecContext(ctx, keys...)
		return err
	})
}

// load reads rows of a table in a transaction.
func (g *generation) load(ctx context.Context, tx *sql.Tx, t table, keys []string, found func(key string, value any)) error {
	args := make([]any, len(keys))
	for i, k := range keys {
		args[i] = storable(k)
	}
	err := inPortions(args, func(portion int, args []any) error {
		rows, err := tx.StmtContext(ctx, g.statements[t.name].load[portion]).QueryContext(ctx, args...)
		if err != nil {
			return err
		}
		return errors.Join(t.decodeAll(rows, found), rows.Close())
	})
	if err != nil {
		return fmt.Errorf("load %s: %w", t.name, err)
	}
	return nil
}

func (t table) decodeAll(rows *sql.Rows, found func(key string, value any)) error {
	for rows.Next() {
		var key, aside string
		var doc []byte
		if err := rows.Scan(&key, &doc, &aside); err != nil {
			return err
		}
		key = original(key)
		value, err := t.decode(key, doc, original(aside))
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		found(key, value)
	}
	return rows.Err()
}
