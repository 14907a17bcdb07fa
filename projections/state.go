package projections

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/address"
	"assent/domain/article"
	"assent/domain/conduct"
	"assent/domain/page"
	"assent/domain/site"
)

// standing is what one stream adds up to. Every fact gets its before and after
// from the one its stream had.
type standing struct {
	Version domain.Version
	State   domain.State
}

// shown says that a kind's state is something people are shown.
func shown(category string) bool {
	return category != conduct.Kind.Category && category != address.Kind.Category
}

// versioned says that a kind's states are all kept, version by version: its
// standings are then among those, and not in states.
func versioned(category string) bool {
	return category == article.Kind.Category || category == page.Kind.Category || category == site.Kind.Category
}

// standing is the stream's standing at this version.
func (r versionRow) standing() standing { return standing{r.Version, r.Content.state(r.Body)} }

// states is the table of standings of all other streams, by their names.
func states(kinds map[string]action.Kind) table {
	return table{
		name: "states", version: 1,
		decode: func(key string, doc []byte, _ string) (any, error) {
			category, _, _ := strings.Cut(key[strings.IndexByte(key, '/')+1:], "/")
			zero, err := zeroOf(kinds, category)
			if err != nil {
				return nil, err
			}
			var row struct {
				Version domain.Version
				State   json.RawMessage
			}
			if err := json.Unmarshal(doc, &row); err != nil {
				return nil, err
			}
			state := reflect.New(reflect.TypeOf(zero))
			err = json.Unmarshal(row.State, state.Interface())
			return standing{row.Version, state.Elem().Interface().(domain.State)}, err
		},
		values: func(any) []any { return nil },
	}
}

// standingKey is a stream's key: like all keys it begins with the workspace.
func standingKey(s domain.Stream) string { return key(s.Workspace, s.Category+"/"+s.ID) }

func zeroOf(kinds map[string]action.Kind, category string) (domain.State, error) {
	kind, ok := kinds[category]
	if !ok {
		return nil, fmt.Errorf("no kind is called %q", category)
	}
	return kind.Fold(nil)
}
