package checkpoint

import (
	"context"
	"fmt"
	"iter"

	"golang.org/x/mod/sumdb/note"

	"assent/commands/eventlog/chain"
)

// Explain asks signed heads what became of a log that was found broken. An event
// that was edited, and one that follows a deleted one and was given its position,
// look the same by themselves: neither fits its hash. A head that was signed
// behind them tells the two apart, by where its hash is now. It is the same
// finding where no head tells more, and reads what is behind it once.
func Explain(ctx context.Context, r chain.Reader, found *chain.Broken, list iter.Seq2[[]byte, error], keys note.Verifiers) *chain.Broken {
	if found.Kind == chain.Deleted && found.Position == 0 { // a stream without events: its end may have been the log's
		_, err := Check(ctx, r, list, keys)
		if cut, ok := chain.IsBroken(err); ok && cut.Kind == chain.Cut {
			return cut
		}
		return found
	}
	if found.Kind != chain.Edited || found.Position == 0 {
		return found
	}
	var newest Head
	for signed, err := range list {
		if err != nil {
			return found // it is broken, whatever the heads say
		}
		if h, err := Open(signed, keys); err == nil && h.Position >= newest.Position {
			newest = h
		}
	}
	if newest.Position < found.Position {
		return found
	}
	for row, err := range chain.All(ctx, r, found.Position-1) {
		switch {
		case err != nil:
			return found
		case row.Link != newest.Chain:
			continue
		case row.Position < newest.Position:
			return &chain.Broken{Position: found.Position, Kind: chain.Deleted, What: fmt.Sprintf(
				"the event that was signed at position %d is at %d now: %d events in front of it are missing, and what follows was given other positions", newest.Position, row.Position, newest.Position-row.Position)}
		case row.Position > newest.Position:
			return &chain.Broken{Position: found.Position, Kind: chain.Reordered, What: fmt.Sprintf(
				"the event that was signed at position %d is at %d now: %d events were put in front of it", newest.Position, row.Position, row.Position-newest.Position)}
		}
		return found
	}
	return found
}
