package eventstoredb

import (
	"context"
	"fmt"
	"hash/maphash"

	"assent/commands/eventlog/chain"
	"assent/domain"
)

// page is how many events Verify reads at once.
const page = 1000

// Verify reads the whole log in order and checks that every stream's versions
// follow one another from 1, and that the hash over everything is the one that
// this process came to when it followed the log, now or before its bookmark.
// The error is a *chain.Broken that names the first wrong position, or says why
// the log could not be read.
//
// It finds what was changed, dropped or moved since the bookmark was begun, or
// since Open if there is none. The server keeps no hashes: what was changed
// before that, and every stream made whole again afterwards, only a head that
// was kept elsewhere can tell. Positions have gaps of their own, and with
// several processes times can run backwards; neither is checked.
//
// Progress, unless nil, hears from time to time which position of which is
// reached. Appends and reads go on meanwhile; what they add is not looked at.
// Memory grows by some 40 bytes a stream.
func (l *Log) Verify(ctx context.Context, progress func(done, total domain.Position)) error {
	head, err := l.Head(ctx)
	if err != nil {
		return err
	}
	w := walk{seed: maphash.MakeSeed(), versions: make(map[uint64]domain.Version)}
	for w.at < head.Position {
		rows, err := l.page(ctx, w.at, head.Position)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := w.next(r); err != nil {
				return err
			}
		}
		if len(rows) == 0 {
			break
		}
		if progress != nil {
			progress(w.at, head.Position)
		}
	}
	switch {
	case w.at != head.Position:
		return &chain.Broken{Position: w.at + 1, Kind: chain.Cut, What: "the last event that was followed is not there any more"}
	case w.chain != head.Chain:
		return &chain.Broken{What: "its events do not give the hash that this process had followed them to"}
	}
	return nil
}

// page is the next rows after a position, none beyond end.
func (l *Log) page(ctx context.Context, after, end domain.Position) ([]chain.Row, error) {
	var rows []chain.Row
	err := l.scan(ctx, after, func(r chain.Row) bool {
		if r.Position > end {
			return false
		}
		rows = append(rows, r)
		return len(rows) < page
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// walk goes through the rows of a log.
type walk struct {
	seed     maphash.Seed
	versions map[uint64]domain.Version // by a stream's name, hashed
	at       domain.Position
	chain    [32]byte
}

// next takes one more row.
func (w *walk) next(r chain.Row) error {
	stream := maphash.String(w.seed, r.Stream.String())
	if was := w.versions[stream]; r.Version != was+1 {
		return &chain.Broken{Position: r.Position, Kind: chain.Deleted, What: fmt.Sprintf("%s goes from version %d to %d", r.Stream, was, r.Version)}
	}
	w.versions[stream] = r.Version
	w.at = r.Position
	w.chain = chain.Link(w.chain, r.Record, r.Text)
	return nil
}
