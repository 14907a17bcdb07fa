// Package projections is what people and agents read: tables folded from the
// log, which can be thrown away and folded again at any time.
//
// A projection is two pure functions (Keys, Fold). One runner stores all of
// them in one transaction with one checkpoint, so that a query may join them
// and always sees one position of the log. One set of their tables is a
// generation. Rebuild folds the next one beside the live one, compares the two
// row by row, and lets it take over.
package projections

import (
	"encoding/json"
	"strings"

	"assent/domain"
)

// Fact is an event as projections are told of it: with what its stream added
// up to before and after. Both are nil for streams whose state nobody is shown
// (addresses, conduct) and for kinds this program does not know.
type Fact struct {
	domain.Recorded
	Before, After domain.State
}

// Projection declares one table of rows R, each a JSON document under a key
// that begins with its workspace. Keys and Fold are pure: the same facts give
// the same rows, in whatever portions they arrive.
type Projection[R any] struct {
	Name    string // of the table, before its generation's number
	Version int    // raise it when Keys, Fold or Columns mean something new: everything is folded again
	Once    bool   // every row is written by one fact, so none is read back before it is written

	Keys func(Fact) []string                       // the rows a fact touches
	Fold func(key string, row R, f Fact) (R, bool) // what it does to one; false: there is no such row (any more)

	Columns []Column[R]      // what queries filter and sort by; the workspace is always one
	Indexes []string         // lists of columns; behind WHERE which rows are in it, when not all are
	Aside   func(*R) *string // a long text kept beside the document, which lists leave on disk; nil: none
}

// Column is a value of the row's document that SQL can see.
type Column[R any] struct {
	Name string
	Type string // TEXT or BIGINT: what SQLite and PostgreSQL both have
	Of   func(R) any
}

func text[R any, T ~string](name string, of func(R) T) Column[R] {
	return Column[R]{name, "TEXT", func(r R) any { return string(of(r)) }}
}

func number[R any, N ~int | ~int64](name string, of func(R) N) Column[R] {
	return Column[R]{name, "BIGINT", func(r R) any { return int64(of(r)) }}
}

// key is the key of a row. The workspace comes first and holds no slash.
func key(workspace, id string) string { return workspace + "/" + id }

// table is a projection with the type of its rows closed over.
type table struct {
	name    string
	version int
	once    bool
	aside   bool
	columns []column
	indexes []string

	keys   func(Fact) []string
	fold   func(key string, row any, f Fact) (any, bool) // row is nil when there is none
	decode func(key string, doc []byte, aside string) (any, error)
	values func(row any) []any  // in the order of columns
	text   func(row any) string // that is kept aside
}

// column is a name and a type.
type column struct{ name, kind string }

func (p Projection[R]) table() table {
	t := table{
		name: p.Name, version: p.Version, once: p.Once, aside: p.Aside != nil, indexes: p.Indexes,
		keys: p.Keys,
		fold: func(key string, row any, f Fact) (any, bool) {
			r, _ := row.(R) // the zero row when there is none yet
			return p.Fold(key, r, f)
		},
		decode: func(_ string, doc []byte, aside string) (any, error) {
			var r R
			err := json.Unmarshal(doc, &r)
			if p.Aside != nil {
				*p.Aside(&r) = aside
			}
			return r, err
		},
		values: func(row any) []any {
			values := make([]any, len(p.Columns))
			for i, c := range p.Columns {
				values[i] = c.Of(row.(R))
			}
			return values
		},
	}
	if p.Aside != nil {
		t.text = func(row any) string {
			r := row.(R)
			return *p.Aside(&r)
		}
	}
	for _, c := range p.Columns {
		t.columns = append(t.columns, column{c.Name, c.Type})
	}
	return t
}

// tables are all read models. Their order is that of writing.
func tables() []table {
	return []table{
		items.table(), versions.table(), pointers.table(), publishes.table(), claims.table(),
		audit.table(), inbox.table(), decisions.table(), touched.table(), containments.table(),
		agents.table(), people.table(), settings.table(), siteRules.table(),
	}
}

func workspaceOf(key string) string {
	workspace, _, _ := strings.Cut(key, "/")
	return workspace
}
