package projections

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
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

// versioned says that a kind's states are all kept, version by version.
func versioned(category string) bool {
	return category == article.Kind.Category || category == page.Kind.Category || category == site.Kind.Category
}

// before is what a record's stream added up to before it. That of content is
// among its versions, which hold it anyway; the others' are in states. A row
// that is not there is no error: the version then says what is missing.
func (b *batch) before(ctx context.Context, r domain.Record, kind action.Kind) (was standing, err error) {
	if versioned(r.Stream.Category) {
		was, err = b.version(ctx, r.Stream, r.Version-1)
	} else {
		var found row
		found, err = b.load(ctx, b.store.states, standingKey(r.Stream))
		was, _ = found.value.(standing)
	}
	if err == nil && was.State == nil {
		was.State, err = kind.Fold(nil)
	}
	return was, err
}

func (b *batch) version(ctx context.Context, s domain.Stream, v domain.Version) (standing, error) {
	k := versionKey(s.Workspace, s.ID, v)
	if r, ok := b.rows[versions.Name][k].value.(versionRow); ok {
		return standing{v, r.Content.state(r.Body)}, nil
	}
	if v == 0 {
		return standing{}, nil
	}
	var doc []byte
	var body string
	err := b.tx.StmtContext(ctx, b.store.body).QueryRowContext(ctx, k).Scan(&doc, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return standing{}, nil
	}
	var r versionRow
	if err == nil {
		err = json.Unmarshal(doc, &r)
	}
	if err != nil {
		return standing{}, fmt.Errorf("load %s %s: %w", versions.Name, k, err)
	}
	return standing{v, r.Content.state(body)}, nil
}

// states is the table of standings of all other streams, by their names.
func states(kinds map[string]action.Kind) table {
	return table{
		name: "states", version: 1,
		decode: func(key string, doc []byte) (any, error) {
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
