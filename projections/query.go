package projections

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"assent/domain"
	"assent/domain/action"
)

// asking is one question: everything asked in it is of one generation at one
// position, because it is one read transaction or one statement.
type asking struct {
	ctx  context.Context //nolint:containedctx // lives as long as one question
	tx   *sql.Tx         // nil: one statement
	rows *generation
}

// ask answers a question in one read transaction. Refusals pass as they are.
func (s *Store) ask(ctx context.Context, what string, answer func(asking) error) error {
	g := s.live.Load()
	tx, err := g.reads.BeginTx(ctx, s.database.snapshot())
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return s.told(g, what, answer(asking{ctx, tx, g}))
}

// glance answers a question that is one statement over a few rows. That sees
// one position by itself, and it is soon over: a transaction would cost more.
func (s *Store) glance(ctx context.Context, what string, answer func(asking) error) error {
	g := s.live.Load()
	if err := ctx.Err(); err != nil {
		return s.told(g, what, err)
	}
	return s.told(g, what, answer(asking{ctx: s.database.patient(ctx), rows: g}))
}

// told is an answer's error: what could not be read, or a refusal as it is.
func (s *Store) told(g *generation, what string, err error) error {
	if err == nil {
		return nil
	}
	if no := (*domain.Refusal)(nil); errors.As(err, &no) {
		return no
	}
	if g.fingerprint != s.fingerprint && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("read %s, which is being folded again for this version of the program (ask again in a while): %w", what, err)
	}
	return fmt.Errorf("read %s: %w", what, err)
}

// docs reads the documents of a query whose first column is one, until keep
// has enough. The other columns, if any, are in more while keep looks.
func docs[R any](a asking, f filter, keep func(R) bool, more ...any) error {
	rows, err := a.query(f.text, f.args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var doc []byte
		if err := rows.Scan(append([]any{&doc}, more...)...); err != nil {
			return err
		}
		for _, column := range more {
			if text, ok := column.(*string); ok {
				*text = original(*text)
			}
		}
		var r R
		if err := json.Unmarshal(doc, &r); err != nil {
			return err
		}
		if !keep(r) {
			break
		}
	}
	return rows.Err()
}

// query asks with a statement that is prepared once.
func (a asking) query(text string, args ...any) (*sql.Rows, error) {
	stmt, err := a.rows.ask(a.ctx, text)
	if err != nil {
		return nil, err
	}
	if a.tx != nil {
		stmt = a.tx.StmtContext(a.ctx, stmt)
	}
	return stmt.QueryContext(a.ctx, args...)
}

// one is the first document of a query.
func one[R any](a asking, f filter, more ...any) (row R, found bool, err error) {
	err = docs(a, f, func(r R) bool {
		row, found = r, true
		return false
	}, more...)
	return row, found, err
}

// byKey is the row of a key. Keys begin with their workspace.
func byKey[R any](a asking, table, workspace, id string) (R, bool, error) {
	return one[R](a, query(`SELECT doc FROM {`+table+`} WHERE workspace = ? AND key = ?`, workspace, key(workspace, id)))
}

// pageOf is one page of rows that a cursor walks through by a number that never
// changes, so that nothing is lost or repeated while things change. The rows
// must be ordered by that number.
func pageOf[R any](a asking, f filter, c cursor, p action.Page, at func(R) int64, keep func(R) bool, more ...any) (rows []R, next string, err error) {
	err = docs(a, f, func(r R) bool {
		if !keep(r) {
			return true
		}
		if len(rows) == p.Size() {
			next = c.next(at(rows[len(rows)-1]))
			return false
		}
		rows = append(rows, r)
		return true
	}, more...)
	return rows, next, err
}

func all[R any](R) bool { return true }

// filter is a query being put together. Values are marked ? where it is
// written and numbered as both databases number them.
type filter struct {
	text string
	args []any
}

func query(text string, args ...any) filter {
	var f filter
	f.add(text, args...)
	return f
}

// add puts more text with its values at the end. A value that is a filter is
// written out in its place.
func (f *filter) add(text string, args ...any) {
	for i, part := range strings.Split(text, "?") {
		if i > 0 {
			switch arg := args[i-1].(type) {
			case filter:
				f.splice(arg)
			case string:
				f.args = append(f.args, storable(strings.ToValidUTF8(arg, "\uFFFD")))
				f.text += "$" + strconv.Itoa(len(f.args))
			default:
				f.args = append(f.args, arg)
				f.text += "$" + strconv.Itoa(len(f.args))
			}
		}
		f.text += part
	}
}

// splice writes another query's text here, its values numbered anew.
func (f *filter) splice(other filter) {
	for i, part := range strings.Split(other.text, "$") {
		if i > 0 {
			digits := len(part) - len(strings.TrimLeft(part, "0123456789"))
			n, _ := strconv.Atoi(part[:digits]) // ours: add wrote it
			f.args = append(f.args, other.args[n-1])
			f.text += "$" + strconv.Itoa(len(f.args))
			part = part[digits:]
		}
		f.text += part
	}
}

// equal adds a condition unless the value is empty.
func (f *filter) equal(column, value string) {
	if value != "" {
		f.add(` AND `+column+` = ?`, value)
	}
}

// cursor is where a page of a list begins: after a number, in one list of one
// workspace.
type cursor struct {
	workspace, list string
	after           int64
	given           bool
}

// cursorOf reads a page's cursor; it is refused when it is not one of this list.
func cursorOf(workspace, list string, p action.Page) (cursor, error) {
	c := cursor{workspace: workspace, list: list}
	if p.Cursor == "" {
		return c, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	number, ours := strings.CutPrefix(string(text), workspace+"/"+list+"/")
	after, err2 := strconv.ParseInt(number, 10, 64)
	if err != nil || err2 != nil || !ours || after < 1 {
		return c, domain.Refuse("invalid", "The cursor is not one of this list. Pass `next` as you got it, or leave the cursor out to start again.")
	}
	c.after, c.given = after, true
	return c, nil
}

func (c cursor) next(last int64) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s/%s/%d", c.workspace, c.list, last))
}

// down orders a query newest first, from the cursor on.
func (f *filter) down(column string, c cursor) {
	if c.given {
		f.add(` AND `+column+` < ?`, c.after)
	}
	f.add(` ORDER BY ` + column + ` DESC`)
}

// up orders a query oldest first, from the cursor on.
func (f *filter) up(column string, c cursor) {
	if c.given {
		f.add(` AND `+column+` > ?`, c.after)
	}
	f.add(` ORDER BY ` + column)
}
