package projections

import (
	"fmt"

	"assent/domain"
	"assent/domain/address"
)

// claimRow is who holds a path of a site from one of its events on.
type claimRow struct {
	Address string // the site's handle and the path
	Version domain.Version
	Holder  string // an id; empty: free
	Made    Moment
}

// claims is who is found at which path, now and at any time before. Only the
// addresses themselves say so: a thing may name one that it lost or never got.
var claims = Projection[claimRow]{
	Name: "claims", Version: 1, Once: true,
	Keys: func(f Fact) []string {
		if f.Stream.Category != address.Kind.Category {
			return nil
		}
		return []string{key(f.Stream.Workspace, fmt.Sprintf("%s@%d", f.Stream.ID, f.Version))}
	},
	Fold: func(_ string, r claimRow, f Fact) (claimRow, bool) {
		r = claimRow{Address: f.Stream.ID, Version: f.Version, Made: momentOf(f)}
		switch e := f.Event.(type) {
		case address.Taken:
			r.Holder = e.Holder
			if s, err := domain.ParseStream(e.Holder); err == nil {
				r.Holder = s.ID
			}
		case address.Freed:
		default: // skipped: whoever held it still does
			return r, false
		}
		return r, true
	},
	Columns: []Column[claimRow]{
		text("address", func(r claimRow) string { return r.Address }),
		number("version", func(r claimRow) domain.Version { return r.Version }),
		text("holder", func(r claimRow) string { return r.Holder }),
		number("position", func(r claimRow) domain.Position { return r.Made.Position }),
		number("at", func(r claimRow) int64 { return r.Made.Time.UnixMicro() }),
	},
	Indexes: []string{"workspace, address, version, holder, position, at"},
}

// holds is the condition that an item i holds a path of its site.
func holds(site, path string, more ...filter) filter {
	f := query(` AND i.id = (SELECT c.holder FROM {claims} c WHERE c.workspace = i.workspace AND c.address = ?`, site+path)
	for _, m := range more {
		f.add(` AND ?`, m)
	}
	f.add(` ORDER BY c.version DESC LIMIT 1)`)
	return f
}
