package checkpoint_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/checkpoint"
	"assent/domain"
)

// the log of these tests: what is at which position.
//
//	1 2 3 4 5 6 7 8 9 10 11 12
//	a b a c b a d b a c  b  a
var order = strings.Fields("a b a c b a d b a c b a")

// signedAt are the positions whose heads were signed.
var signedAt = []int{3, 8, 12}

// TestWhatHappenedToALogIsNamed: tables changed by hand, by somebody who knows
// more or less how they hang together.
func TestWhatHappenedToALogIsNamed(t *testing.T) {
	type finding struct {
		kind     chain.Kind
		position domain.Position
	}
	sound := finding{}
	for name, c := range map[string]struct {
		spoil  func(d database, r chain.Reader)
		here   bool    // on SQLite only: PostgreSQL's tables show the same
		there  bool    // on PostgreSQL only: SQLite's tables cannot be made to hold it
		alone  finding // by the log itself
		signed finding // with the signed heads; as alone where empty
	}{
		"nothing": {spoil: func(database, chain.Reader) {}},

		"data edited": {spoil: func(d database, _ chain.Reader) {
			d.exec("UPDATE events SET data = ? WHERE position = 5", `{"title":"X"}`)
		}, alone: finding{chain.Edited, 5}},
		"an envelope edited": {here: true, spoil: func(d database, _ chain.Reader) { d.exec("UPDATE events SET envelope = ? WHERE position = 5", `{}`) }, alone: finding{chain.Edited, 5}},
		"an id edited":       {here: true, spoil: func(d database, _ chain.Reader) { d.exec("UPDATE events SET id = ? WHERE position = 5", "x") }, alone: finding{chain.Edited, 5}},
		"a time edited": {here: true, spoil: func(d database, _ chain.Reader) {
			d.exec("UPDATE events SET recorded_at = recorded_at + 1 WHERE position = 5")
		}, alone: finding{chain.Edited, 5}},
		"a hash edited": {here: true, spoil: func(d database, _ chain.Reader) {
			d.exec("UPDATE events SET link = ? WHERE position = 5", make([]byte, 32))
		}, alone: finding{chain.Edited, 5}},
		"a hash made short": {spoil: func(d database, _ chain.Reader) { d.exec("UPDATE events SET link = ? WHERE position = 5", []byte{1}) }, alone: finding{chain.Edited, 5}},
		"a version edited":  {here: true, spoil: func(d database, _ chain.Reader) { d.exec("UPDATE events SET version = 9 WHERE position = 5") }, alone: finding{chain.Edited, 5}},
		"the version of a stream's last edited": {spoil: func(d database, _ chain.Reader) {
			d.exec("UPDATE events SET version = 9 WHERE position = 12")
		}, alone: finding{chain.Edited, 12}},
		"the version of a stream's only one edited": {spoil: func(d database, _ chain.Reader) {
			d.exec("UPDATE events SET version = 2 WHERE position = 7")
		}, alone: finding{chain.Edited, 7}},
		"a version made none": {spoil: func(d database, _ chain.Reader) {
			d.exec("UPDATE events SET version = 0 WHERE position = 5")
		}, alone: finding{chain.Edited, 5}},
		"an event made another's": {here: true, spoil: func(d database, _ chain.Reader) {
			d.exec("UPDATE events SET stream = (SELECT stream FROM events WHERE position = 4), version = 7 WHERE position = 8")
		}, alone: finding{chain.Edited, 8}},
		"a stream renamed": {spoil: func(d database, _ chain.Reader) {
			d.exec("UPDATE streams SET name = ? WHERE name = ?", "article-home/z", "article-home/d")
		}, alone: finding{chain.Edited, 7}},
		"a stream's name made none": {here: true, spoil: func(d database, _ chain.Reader) {
			d.exec("UPDATE streams SET name = ? WHERE name = ?", "z", "article-home/d")
		}, alone: finding{chain.Edited, 7}},
		"data edited under a hash of its own": {here: true, spoil: func(d database, r chain.Reader) {
			d.exec("UPDATE events SET data = ? WHERE position = 5", `{"title":"X"}`)
			d.relink(r, 5, false)
		}, alone: finding{chain.Edited, 6}, signed: finding{chain.Edited, 6}},
		"the last event edited under a hash of its own": {here: true, spoil: func(d database, r chain.Reader) {
			d.exec("UPDATE events SET data = ? WHERE position = 12", `{"title":"X"}`)
			d.relink(r, 12, false)
		}, alone: finding{chain.Edited, 12}},
		"the head's hash edited": {spoil: func(d database, _ chain.Reader) { d.exec("UPDATE head SET chain = ?", make([]byte, 32)) }, alone: finding{chain.Edited, 12}},
		"the head's time edited": {spoil: func(d database, _ chain.Reader) { d.exec("UPDATE head SET recorded_at = recorded_at + 1") }, alone: finding{chain.Edited, 12}},
		"the head emptied": {spoil: func(d database, _ chain.Reader) {
			d.exec("UPDATE head SET position = 0, recorded_at = 0, chain = ?", make([]byte, 32))
		}, alone: finding{chain.Edited, 1}},
		"the head set back":         {spoil: func(d database, r chain.Reader) { d.setBack(r, 9) }, alone: finding{chain.Edited, 10}},
		"the head set on":           {spoil: func(d database, _ chain.Reader) { d.exec("UPDATE head SET position = 15") }, alone: finding{chain.Cut, 13}},
		"the head below everything": {spoil: func(d database, _ chain.Reader) { d.exec("UPDATE head SET position = -5") }, alone: finding{chain.Edited, 1}},
		"the head removed":          {spoil: func(d database, _ chain.Reader) { d.exec("DELETE FROM head") }, alone: finding{chain.Edited, 0}},
		"the head's hash made short": {spoil: func(d database, _ chain.Reader) {
			d.exec("UPDATE head SET chain = ?", []byte{1})
		}, alone: finding{chain.Edited, 0}},

		"deleted":               {spoil: func(d database, _ chain.Reader) { d.remove(5) }, alone: finding{chain.Deleted, 5}},
		"the first deleted":     {here: true, spoil: func(d database, _ chain.Reader) { d.remove(1) }, alone: finding{chain.Deleted, 1}},
		"several deleted":       {here: true, spoil: func(d database, _ chain.Reader) { d.remove(5); d.remove(6); d.remove(7) }, alone: finding{chain.Deleted, 5}},
		"deleted and closed up": {spoil: func(d database, _ chain.Reader) { d.remove(5); d.shift(5, -1) }, alone: finding{chain.Deleted, 5}},
		"deleted, closed up, the head moved": {here: true, spoil: func(d database, r chain.Reader) {
			d.remove(5)
			d.shift(5, -1)
			d.refit(r)
		}, alone: finding{chain.Deleted, 5}},
		"deleted in front of the same stream's next, closed up, the head moved": {here: true, spoil: func(d database, r chain.Reader) {
			d.remove(4) // c; the next c is at 10
			d.remove(5)
			d.remove(6)
			d.remove(7)
			d.remove(8)
			d.remove(9)
			d.shift(9, -6)
			d.refit(r)
		}, alone: finding{chain.Deleted, 4}},
		"the only one of a stream deleted, closed up, the head moved": {spoil: func(d database, r chain.Reader) {
			d.remove(7)
			d.shift(7, -1)
			d.refit(r)
		}, alone: finding{chain.Deleted, 7}}, // the stream's name is still there
		"the same, and its name deleted": {spoil: func(d database, r chain.Reader) {
			d.remove(7)
			d.exec("DELETE FROM streams WHERE name = ?", "article-home/d")
			d.shift(7, -1)
			d.refit(r)
		}, alone: finding{chain.Edited, 7}, signed: finding{chain.Deleted, 7}}, // nothing but a head signed behind it tells
		"the last of a stream deleted, closed up, the head moved": {spoil: func(d database, r chain.Reader) {
			d.remove(11)
			d.shift(11, -1)
			d.refit(r)
		}, alone: finding{chain.Edited, 11}, signed: finding{chain.Deleted, 11}},
		"one put in, the rest moved up, the head too": {spoil: func(d database, r chain.Reader) {
			d.shift(6, 1)
			d.exec("INSERT INTO streams (id, name) VALUES (99, ?)", "article-home/y")
			d.exec("INSERT INTO events (position, stream, version, id, word, revision, recorded_at, envelope, data, link) SELECT 7, 99, 1, id, word, 1, recorded_at, envelope, data, link FROM events WHERE position = 5")
			d.refit(r)
		}, alone: finding{chain.Reordered, 7}},
		"deleted, with the whole chain computed anew": {spoil: func(d database, r chain.Reader) {
			d.remove(5)
			d.shift(5, -1)
			d.relink(r, 5, true)
		}, alone: finding{chain.Deleted, 7}}, // where its stream's next event shows it
		"a stream's events deleted, with the whole chain computed anew": {spoil: func(d database, r chain.Reader) {
			d.remove(7)
			d.shift(7, -1)
			d.relink(r, 7, true)
		}, alone: finding{chain.Deleted, 0}}, // its name is still there
		"a stream deleted, with the whole chain computed anew": {spoil: func(d database, r chain.Reader) {
			d.remove(7)
			d.exec("DELETE FROM streams WHERE name = ?", "article-home/d")
			d.shift(7, -1)
			d.relink(r, 7, true)
		}, signed: finding{chain.Replaced, 4}}, // behind the head at 3, not behind the one at 8

		"two changed places":               {spoil: func(d database, _ chain.Reader) { d.swap(5, 6) }, alone: finding{chain.Reordered, 5}},
		"two far apart changed places":     {here: true, spoil: func(d database, _ chain.Reader) { d.swap(4, 11) }, alone: finding{chain.Reordered, 4}},
		"two of one stream changed places": {here: true, spoil: func(d database, _ chain.Reader) { d.swap(3, 6) }, alone: finding{chain.Reordered, 3}},
		"two of one stream changed places, with the whole chain computed anew": {here: true, spoil: func(d database, r chain.Reader) {
			d.swap(3, 6)
			d.relink(r, 3, true)
		}, alone: finding{chain.Reordered, 3}},
		"one moved to the end": {here: true, spoil: func(d database, _ chain.Reader) {
			d.exec("UPDATE events SET position = 99 WHERE position = 5")
			d.shift(5, -1)
		}, alone: finding{chain.Reordered, 5}},
		"one put in": {spoil: func(d database, _ chain.Reader) {
			d.shift(6, 1)
			d.exec("INSERT INTO events (position, stream, version, id, word, revision, recorded_at, envelope, data, link) SELECT 7, 99, 1, id, word, 1, recorded_at, envelope, data, link FROM events WHERE position = 5")
		}, alone: finding{chain.Reordered, 7}},
		"one put far behind the end": {spoil: func(d database, _ chain.Reader) {
			d.exec("INSERT INTO events (position, stream, version, id, word, revision, recorded_at, envelope, data, link) SELECT 900, stream, version + 90, id, word, 1, recorded_at, envelope, data, link FROM events WHERE position = 12")
		}, alone: finding{chain.Reordered, 13}},
		"a stream under two names' numbers, with the whole chain computed anew": {there: true, spoil: func(d database, r chain.Reader) {
			d.exec("DROP INDEX streams_name")
			d.exec("INSERT INTO streams (id, name) VALUES (99, ?)", "article-home/a")
			d.exec("UPDATE events SET stream = 99, version = 1 WHERE position = 12")
			d.relink(r, 12, true)
		}, alone: finding{chain.Damaged, 0}},
		"the index that keeps versions apart taken away": {there: true, spoil: func(d database, _ chain.Reader) {
			d.exec("ALTER TABLE events DROP CONSTRAINT events_stream_version_key")
		}, alone: finding{chain.Damaged, 0}},
		"a version twice, with the whole chain computed anew": {there: true, spoil: func(d database, r chain.Reader) {
			d.exec("ALTER TABLE events DROP CONSTRAINT events_stream_version_key")
			d.exec("UPDATE events SET version = 4 WHERE position = 12")
			d.relink(r, 12, true)
		}, alone: finding{chain.Reordered, 12}},
		"one put behind the end": {here: true, spoil: func(d database, _ chain.Reader) {
			d.exec("INSERT INTO events (position, stream, version, id, word, revision, recorded_at, envelope, data, link) SELECT 13, stream, version + 90, id, word, 1, recorded_at, envelope, data, link FROM events WHERE position = 12")
		}, alone: finding{chain.Reordered, 13}},

		"the end cut":    {spoil: func(d database, _ chain.Reader) { d.exec("DELETE FROM events WHERE position > 9") }, alone: finding{chain.Cut, 10}},
		"everything cut": {here: true, spoil: func(d database, _ chain.Reader) { d.exec("DELETE FROM events") }, alone: finding{chain.Cut, 1}},
		"the end cut, and the head moved": {spoil: func(d database, r chain.Reader) {
			d.exec("DELETE FROM events WHERE position > 9")
			d.refit(r)
		}, signed: finding{chain.Cut, 10}},

		"the end cut with a stream of its own, and the head moved": {spoil: func(d database, r chain.Reader) {
			d.exec("DELETE FROM events WHERE position > 6")
			d.refit(r)
		}, alone: finding{chain.Deleted, 0}, signed: finding{chain.Cut, 7}},
		"data edited, with the whole chain computed anew": {spoil: func(d database, r chain.Reader) {
			d.exec("UPDATE events SET data = ? WHERE position = 5", `{"title":"X"}`)
			d.relink(r, 5, true)
		}, signed: finding{chain.Replaced, 4}}, // behind the head at 3, not behind the one at 8
		"the first event edited, with the whole chain computed anew": {here: true, spoil: func(d database, r chain.Reader) {
			d.exec("UPDATE events SET data = ? WHERE position = 1", `{"title":"X"}`)
			d.relink(r, 1, true)
		}, signed: finding{chain.Replaced, 1}},
	} {
		if c.signed == sound {
			c.signed = c.alone
		}
		for i, s := range stores {
			if i > 0 && c.here || i == 0 && c.there {
				continue
			}
			t.Run(s.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				key := newKey(t)
				url := s.where(t)
				heads := grow(t, s, url, key)
				d := s.hands(t, url)
				stored := s.stored(t, url)
				c.spoil(d, stored)
				if err := d.db.Close(); err != nil {
					t.Fatal(err)
				}
				got := func(err error) finding {
					broken, ok := chain.IsBroken(err)
					if err != nil && !ok {
						t.Fatal(err)
					}
					if !ok {
						return sound
					}
					t.Log(broken)
					return finding{broken.Kind, broken.Position}
				}
				_, err := chain.Verify(t.Context(), stored, chain.Mark{}, nil)
				if found := got(err); found != c.alone {
					t.Errorf("alone: %+v, want %+v", found, c.alone)
				}
				if broken, ok := chain.IsBroken(err); ok {
					err = checkpoint.Explain(t.Context(), stored, broken, listOf(heads), key.Verifiers())
				} else if err == nil {
					_, err = checkpoint.Check(t.Context(), stored, listOf(heads), key.Verifiers())
				}
				if found := got(err); found != c.signed {
					t.Errorf("with signed heads: %+v, want %+v", found, c.signed)
				}
			})
		}
	}
}

// grow writes the log of these tests and signs some of its heads.
func grow(t *testing.T, s store, url string, key *checkpoint.Key) (heads [][]byte) {
	t.Helper()
	l := s.open(t, url, ticking())
	versions := make(map[string]domain.Version)
	for i, stream := range order {
		write(t, l, versions, stream)
		if slices.Contains(signedAt, i+1) {
			head := must(l.Head(t.Context()))(t)
			heads = append(heads, must(key.Sign(checkpoint.Of(head)))(t))
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return heads
}

// TestAnotherLogIsNotThisOne: one of another story, and an older copy that was
// put back and went on.
func TestAnotherLogIsNotThisOne(t *testing.T) {
	for _, s := range stores[:1] {
		t.Run(s.name, func(t *testing.T) {
			key := newKey(t)
			heads := grow(t, s, s.where(t), key)
			versions := make(map[string]domain.Version)
			for name, c := range map[string]struct {
				streams []string
				kind    chain.Kind
				at      domain.Position
			}{
				"another log":                            {strings.Fields("z y x z y x z y x z y x w"), chain.Replaced, 1},
				"another log, and a shorter one":         {strings.Fields("z y x z y"), chain.Replaced, 1},
				"an older copy":                          {order[:8], chain.Cut, 9},
				"an older copy that went on":             {append(slices.Clone(order[:9]), "q", "q", "q", "q"), chain.Replaced, 9},
				"an older copy that went on, not as far": {append(slices.Clone(order[:9]), "q"), chain.Cut, 11},
				"an empty log":                           {nil, chain.Cut, 1},
			} {
				clear(versions)
				url := s.where(t)
				l := s.open(t, url, ticking())
				write(t, l, versions, c.streams...)
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				stored := s.stored(t, url)
				if _, err := chain.Verify(t.Context(), stored, chain.Mark{}, nil); err != nil {
					t.Fatal(err)
				}
				_, err := checkpoint.Check(t.Context(), stored, listOf(heads), key.Verifiers())
				if broken, _ := chain.IsBroken(err); broken == nil || broken.Kind != c.kind || broken.Position != c.at {
					t.Errorf("%s: %v, want %s at %d", name, err, c.kind, c.at)
				}
			}
		})
	}
}

// TestVerifyGoesOnBehindAMark: what is in front is relied upon, once it is seen
// to be the same log.
func TestVerifyGoesOnBehindAMark(t *testing.T) {
	s := stores[0]
	key, url := newKey(t), s.where(t)
	heads := grow(t, s, url, key)
	stored := s.stored(t, url)
	mark := must(checkpoint.Open(heads[1], key.Verifiers()))(t).Mark
	read := &counting{Reader: stored}
	reached, err := chain.Verify(t.Context(), read, mark, nil)
	if err != nil || reached.Position != 12 {
		t.Fatalf("%v, %v", reached, err)
	}
	if read.first < 8 {
		t.Errorf("it read from position %d on", read.first)
	}
	d := s.hands(t, url)
	d.exec("UPDATE events SET data = ? WHERE position = 5", "{}")
	if _, err := chain.Verify(t.Context(), stored, mark, nil); err != nil {
		t.Errorf("it did not rely on what is in front: %v", err)
	}
	d.exec("UPDATE events SET data = ? WHERE position = 10", "{}")
	if err := d.db.Close(); err != nil {
		t.Fatal(err)
	}
	if reached, err := chain.Verify(t.Context(), stored, mark, nil); reached.Position != 9 || err == nil {
		t.Errorf("%v, %v", reached, err)
	}
	mark.Chain[0]++
	if broken, _ := chain.IsBroken(errorOf(chain.Verify(t.Context(), stored, mark, nil))); broken == nil || broken.Kind != chain.Replaced {
		t.Errorf("another log's mark: %v", broken)
	}
	mark.Position = 99
	if broken, _ := chain.IsBroken(errorOf(chain.Verify(t.Context(), stored, mark, nil))); broken == nil || broken.Kind != chain.Cut {
		t.Errorf("a mark behind the end: %v", broken)
	}
}

func errorOf(_ chain.Mark, err error) error { return err }

// counting is a reader that remembers from where it was read in pages.
type counting struct {
	chain.Reader
	first domain.Position
}

func (c *counting) Rows(ctx context.Context, after domain.Position, limit int) ([]chain.Kept, error) {
	if limit > 1 && (c.first == 0 || after < c.first) {
		c.first = after
	}
	return c.Reader.Rows(ctx, after, limit)
}

// TestAWalkThatIsBrokenOffSaysHowFarItCame: and goes on from there to the end.
func TestAWalkThatIsBrokenOffSaysHowFarItCame(t *testing.T) {
	s := stores[0]
	url := s.where(t)
	grow(t, s, url, newKey(t))
	stored := s.stored(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	reached, err := chain.Verify(ctx, stopping{stored, cancel}, chain.Mark{}, nil)
	if !errors.Is(err, context.Canceled) || reached.Position != 4 {
		t.Fatalf("%v, %v", reached, err)
	}
	again, err := chain.ParseMark(reached.String())
	if err != nil || again != reached {
		t.Fatalf("%v, %v", again, err)
	}
	if reached, err := chain.Verify(t.Context(), stored, again, nil); err != nil || reached.Position != 12 {
		t.Errorf("%v, %v", reached, err)
	}
}

// stopping gives four events and ends the context.
type stopping struct {
	chain.Reader
	stop func()
}

func (s stopping) Rows(ctx context.Context, after domain.Position, _ int) ([]chain.Kept, error) {
	if after > 0 {
		s.stop()
	}
	return s.Reader.Rows(ctx, after, 4)
}
