package chain

import (
	"context"
	"fmt"

	"assent/commands"
	"assent/domain"
)

// Kind is what happened to a log.
type Kind string

// What can happen to a log. The position is certain, the kind is what fits
// everything that is still there: somebody who also computes the hashes anew
// can make one look like another, or like nothing at all. Then only a mark that
// was kept elsewhere tells, and what it tells is Replaced or Cut.
const (
	Edited    Kind = "edited"    // an event, or the head, is not what was written
	Deleted   Kind = "deleted"   // events in the middle are missing
	Reordered Kind = "reordered" // events were moved, or put in
	Cut       Kind = "cut"       // the end is missing, or an older copy was put back
	Replaced  Kind = "replaced"  // another log, or one that was written anew from here on
	Damaged   Kind = "damaged"   // the database itself, below the log
)

// Broken says where a log stops being what was written. What came before
// Position is as it was; from there on nothing is certain.
type Broken struct {
	Position domain.Position
	Kind     Kind // empty where nobody looked
	What     string
}

// Error names the position and what is wrong there.
func (b *Broken) Error() string {
	text := "the log is broken"
	if b.Position > 0 {
		text += fmt.Sprintf(" at position %d", b.Position)
	}
	if b.Kind != "" {
		text += " (" + string(b.Kind) + ")"
	}
	return text + ": " + b.What
}

// NoHead is that a log's head is gone, or cannot be read: then nothing says where
// the log ends.
func NoHead(why string) *Broken {
	return &Broken{Kind: Edited, What: why + ": it says where the log ends, and the log only ever moves it on"}
}

// Emptied is that a stream has a name and no events.
func Emptied(stream string) *Broken {
	return &Broken{Kind: Deleted, What: fmt.Sprintf("the stream %q has a name and no events: they were removed, and what came behind them may have been given other positions", stream)}
}

// explain says what happened where a walk stopped: it reads on to the end and
// weighs what is still there.
func explain(ctx context.Context, r Reader, w *Walk, head commands.Head) (*Broken, error) {
	e := evidence{walk: w, head: head}
	for row, err := range All(ctx, r, w.head.Position) {
		if err != nil {
			return nil, err
		}
		e.see(row)
	}
	kind, more := e.verdict()
	if kind == Edited && !e.sure {
		if below, ok := IsBroken(r.Intact(ctx)); ok && below.Kind == Deleted {
			kind, more = Deleted, "; "+below.What
		}
	}
	return &Broken{w.broken.Position, kind, w.broken.What + more}, nil
}

// hashed is about how many bytes are hashed to find a version, in well under a
// second: some ten thousand are tried of a usual event.
const hashed = 32 << 20

// renumbered finds the version under which an event has its hash; 0 if there is
// none. Then nothing but its version was changed.
func renumbered(prev [32]byte, r Kept) domain.Version {
	likely, tries := r.Before+1, domain.Version(hashed/(512+len(r.Text)+len(r.Data)))
	for v := range tries + 1 {
		if v == 0 {
			v = likely
		}
		r.Record.Version = v
		if Link(prev, r.Record, r.Text) == r.Link {
			return v
		}
	}
	return 0
}

// evidence is what the rest of a broken log shows.
type evidence struct {
	walk  *Walk
	head  commands.Head
	first Kept            // where the log breaks
	last  domain.Position // of the rows that there are
	heir  domain.Position // of the event that follows the last right one, by its hash
	gaps  int             // events whose stream misses one before them, behind the first
	late  bool            // an event stands behind a later one of its stream
	moved bool            // an event that the first one should be behind comes later

	was  domain.Version // of the first, by its hash, where only that was changed
	sure bool           // the hashes leave no other kind
}

func (e *evidence) see(r Kept) {
	if e.last == 0 {
		e.first = r
		e.was = renumbered(e.walk.head.Chain, r)
	} else if r.Version > r.Before+1 {
		e.gaps++
	}
	e.late = e.late || r.Version <= r.Before
	e.moved = e.moved || r.Stream == e.first.Stream && r.Version < e.first.Version
	e.last = r.Position
	if e.heir == 0 && Link(e.walk.head.Chain, r.Record, r.Text) == r.Link {
		e.heir = r.Position
	}
}

// verdict is the kind that fits, and what to add to the finding.
func (e *evidence) verdict() (Kind, string) {
	at := e.walk.broken.Position
	missing := e.first.Version > e.first.Before+1
	switch {
	case e.first.Position == at && e.was > 0 && e.was != e.first.Version:
		e.sure = true
		return Edited, fmt.Sprintf("; they do with version %d: its version was edited, and nothing else of it", e.was)
	case e.heir > at:
		return Reordered, fmt.Sprintf("; the event that was written here is at position %d now", e.heir)
	case e.first.Position > at:
		return Deleted, ""
	case e.heir == at && missing && !e.late && !e.moved:
		return Deleted, ", in hashes that were computed anew"
	case e.heir == at:
		return Reordered, ", in hashes that were computed anew"
	case e.late:
		return Reordered, ""
	case e.last < e.head.Position:
		return Deleted, fmt.Sprintf("; what follows was given other positions, and %d events are missing", e.head.Position-e.last)
	case missing && e.gaps != 1, !missing && e.gaps > 0: // an event given another stream or version leaves one gap where it was
		return Deleted, "; what follows was given other positions"
	}
	return Edited, ": it was edited, or the hash in front of it was, or one in front of it was deleted and all that follows given other positions"
}
