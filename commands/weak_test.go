package commands_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/commands"
	"assent/domain"
	"assent/domain/policy"
)

// TestKilledBetweenTwoStreams: whoever asks again under the same id gets the
// thing done once, wherever the first try stopped, and the same answer from
// then on.
func TestKilledBetweenTwoStreams(t *testing.T) {
	for _, d := range deeds {
		for at := range d.streams + 1 {
			t.Run(fmt.Sprintf("%s after %d", d.name, at), func(t *testing.T) {
				t.Parallel()
				w := newTown(t)
				w.made("soil")
				w.meet(at, func() error { return errKilled })
				if out := d.do(w, "c1"); out.Outcome != commands.Unknown {
					t.Fatalf("killed after %d of %d: %s", at, d.streams, says(out))
				}
				if n := len(w.effectsOf("c1")); n != map[bool]int{true: 1}[at >= d.done] {
					t.Errorf("done %d times before it was asked again", n)
				}
				w.restart()
				first := d.do(w, "c1")
				if says(first) != d.end {
					t.Fatalf("asked again: %+v", first)
				}
				second := d.do(w, "c1")
				second.Position, first.Position = 0, 0 // of what came last
				if diff := cmp.Diff(briefly(t, first), briefly(t, second)); diff != "" {
					t.Errorf("asked a third time (-second +third):\n%s", diff)
				}
				homeless, stale := w.sound()
				if len(homeless) > 0 {
					t.Errorf("without their address: %v", homeless)
				}
				if left := at == d.done && d.streams > d.done; left != (len(stale) > 0) {
					t.Errorf("addresses left behind: %v", stale)
				}
				w.later(2 * time.Minute)
				if out := w.create("soil", ""); len(stale) > 0 && says(out) != commands.Done {
					t.Errorf("what was left behind cannot be taken: %+v", out)
				}
				w.sound()
			})
		}
	}
}

// effectsOf are the actions that had an effect under the local agent's id.
func (w *town) effectsOf(commandID string) (done []domain.ID) {
	c := w.census()
	for id := range c.effects {
		if id.Kind() == "cmd" && c.given[id] {
			done = append(done, id)
		}
	}
	return done
}

// briefly is what two answers to one call must agree on.
func briefly(t *testing.T, out commands.Outcome) string {
	t.Helper()
	var held struct{ ID, State string }
	if out.Proposal != nil {
		if err := json.Unmarshal(spelt(t, out.Proposal), &held); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprint(says(out), " ", out.Action, " ", *out.Target, " ", held)
}

// TestKilledAndNeverAskedAgain: what is left behind is in nobody's way for
// longer than a minute.
func TestKilledAndNeverAskedAgain(t *testing.T) {
	for _, d := range deeds {
		for at := range d.streams + 1 {
			t.Run(fmt.Sprintf("%s after %d", d.name, at), func(t *testing.T) {
				t.Parallel()
				w := newTown(t)
				w.made("soil")
				w.meet(at, func() error { return errKilled })
				d.do(w, "c1")
				w.restart()
				_, stale := w.sound()
				for _, slug := range []string{"menu", "soil"} {
					free := w.census().held["main/posts/"+slug] == ""
					held := slices.Contains(stale, "main/posts/"+slug)
					if out := w.create(slug, ""); held && says(out) != "refused taken" || free && says(out) != commands.Done {
						t.Errorf("at once, %s: %+v", slug, out)
					}
				}
				w.later(61 * time.Second)
				for _, at := range stale {
					if out := w.create(strings.TrimPrefix(at, "main/posts/"), ""); says(out) != commands.Done {
						t.Errorf("after a minute, %s: %+v", at, out)
					}
				}
				if homeless, stale := w.sound(); len(homeless)+len(stale) > 0 {
					t.Errorf("left: %v without their address, %v held for nothing", homeless, stale)
				}
			})
		}
	}
}

// TestSomebodyComesInBetween: another caller acts while the streams are being
// written, to the same thing, at the same address, or under the same id.
func TestSomebodyComesInBetween(t *testing.T) {
	rivals := []struct {
		name string
		do   func(w *town, d deed, id string) commands.Outcome
	}{
		{"who asks the same again", func(w *town, d deed, id string) commands.Outcome { return d.do(w, id) }},
		{"who wants it as well", func(w *town, d deed, _ string) commands.Outcome { return d.do(w, "c2") }},
		{"who wants the address", func(w *town, _ deed, _ string) commands.Outcome { return w.create("menu", "") }},
		{"who wants the old address", func(w *town, _ deed, _ string) commands.Outcome { return w.create("soil", "") }},
		{"who edits the thing", func(w *town, _ deed, _ string) commands.Outcome {
			return w.act(policy.Bypass, "article.update", args{"article": "$soil", "body": "Rival."})
		}},
		{"who moves the thing", func(w *town, _ deed, _ string) commands.Outcome {
			return w.act(policy.Bypass, "article.update", args{"article": "$soil", "slug": "elsewhere"})
		}},
		{"who moves the thing there", func(w *town, _ deed, _ string) commands.Outcome {
			return w.act(policy.Bypass, "article.update", args{"article": "$soil", "slug": "menu"})
		}},
		{"who removes the thing", func(w *town, _ deed, _ string) commands.Outcome {
			return w.act(policy.Bypass, "article.remove", args{"article": "$soil"})
		}},
	}
	for _, d := range deeds {
		for _, rival := range rivals {
			for at := asked; at <= d.streams; at++ {
				for i := range 4 {
					late, id := i&1 > 0, []string{"", "c1"}[i>>1]
					t.Run(fmt.Sprintf("%s after %d of %s, late %v, under %q", rival.name, at, d.name, late, id), func(t *testing.T) {
						t.Parallel()
						w := newTown(t)
						w.made("soil")
						var other commands.Outcome
						w.meet(at, func() error {
							if late {
								w.later(2 * time.Minute)
							}
							other = w.elsewhere(func() commands.Outcome { return rival.do(w, d, id) })
							return nil
						})
						out := d.do(w, id)
						w.nobody()
						for _, end := range []commands.Outcome{out, other} {
							did := end.Outcome == commands.Done || end.Outcome == commands.Waiting
							if end.Outcome == commands.Unknown || did != (w.census().effects[end.Action] == 1) {
								t.Errorf("it ended %+v", end)
							}
						}
						if rival.name == "who asks the same again" && id != "" && other.Outcome != "" && briefly(t, out) != briefly(t, other) {
							t.Errorf("the same call ended\n%s\n%s", briefly(t, out), briefly(t, other))
						}
						homeless, _ := w.sound()
						told := slices.ContainsFunc(out.Changes, func(l domain.Line) bool { return l.Field == "address" })
						if told != (len(homeless) > 0) || len(homeless) > 0 && !late {
							t.Errorf("%v are without their address, told: %v; %s beside %s", homeless, told, says(out), says(other))
						}
						for _, id := range homeless {
							if out := w.publish(id); says(out) != "refused taken" {
								t.Errorf("what does not hold its address goes live: %+v", out)
							}
							w.act(policy.Bypass, "article.update", args{"article": id, "slug": "a-place-of-its-own"})
							if out := w.publish(id); says(out) != commands.Done {
								t.Errorf("moved, it does not go live: %+v", out)
							}
						}
						w.sound()
					})
				}
			}
		}
	}
}

// elsewhere does something in another process, and comes back to this one.
func (w *town) elsewhere(do func() commands.Outcome) commands.Outcome {
	mine := w.road
	w.restart()
	out := do()
	w.road, w.desk = mine, commands.NewDesk(mine)
	return out
}

// TestTwoGoOnWithWhatWasBegun: the first try was killed, and two ask again at
// once. It comes to one end, and both hear of that one. It does too if one may
// act and the other's calls wait, unless the mode is changed between the log's
// look at what an append rests on and its writes: that is the window which a
// log that is not Atomic leaves open.
func TestTwoGoOnWithWhatWasBegun(t *testing.T) {
	waits := func(w *town, id string) commands.Outcome {
		return w.act(policy.Manual, "article.create", args{"site": "main", "slug": "menu", "title": "Of menu", "body": "", "command_id": id})
	}
	pairs := map[string][2]func(w *town, id string) commands.Outcome{"acts, waits": {deeds[0].do, waits}, "waits, acts": {waits, deeds[0].do}}
	for _, d := range deeds {
		pairs[d.name] = [2]func(w *town, id string) commands.Outcome{d.do, d.do}
	}
	for name, pair := range pairs {
		for killed := range 3 {
			for at := asked; at < 3; at++ {
				if at > asked && strings.Contains(name, ",") {
					break
				}
				t.Run(fmt.Sprintf("%s, killed after %d, after %d", name, killed, at), func(t *testing.T) {
					t.Parallel()
					w := newTown(t)
					w.made("soil")
					w.meet(killed, func() error { return errKilled })
					pair[0](w, "c1")
					w.nobody()
					var other commands.Outcome
					w.meet(at, func() error {
						other = w.elsewhere(func() commands.Outcome { return pair[1](w, "c1") })
						return nil
					})
					out := pair[0](w, "c1")
					if w.nobody() {
						other = pair[1](w, "c1")
					}
					if briefly(t, out) != briefly(t, other) {
						t.Errorf("it ended\n%s\n%s", briefly(t, out), briefly(t, other))
					}
					if n := len(w.effectsOf("c1")); n != 1 {
						t.Errorf("%d ends", n)
					}
					if homeless, _ := w.sound(); len(homeless) > 0 {
						t.Errorf("without their address: %v", homeless)
					}
				})
			}
		}
	}
}

// TestTwoTakeAnAbandonedAddress: of two who take over what was left behind,
// one gets it.
func TestTwoTakeAnAbandonedAddress(t *testing.T) {
	for at := range 4 {
		w := newTown(t)
		w.meet(1, func() error { return errKilled }) // the address is taken, the article is not there
		w.create("menu", "")
		w.later(2 * time.Minute)
		var other commands.Outcome
		w.meet(at, func() error {
			other = w.create("menu", "")
			return nil
		})
		out := w.create("menu", "")
		w.nobody()
		ends := []string{says(out), says(other)}
		slices.Sort(ends)
		want := []string{"done", "refused taken"}
		if at == 3 {
			want = []string{"", "done"} // it was over by then
		}
		if diff := cmp.Diff(want, ends); diff != "" {
			t.Errorf("after %d: %v", at, ends)
		}
		if homeless, stale := w.sound(); len(homeless)+len(stale) > 0 {
			t.Errorf("after %d: %v, %v", at, homeless, stale)
		}
	}
}

// TestTheHolderComesBack: the one whose claim is being taken over writes its
// thing in the last moment. Both are there, one holds the address, and the
// other cannot go live before it is moved.
func TestTheHolderComesBack(t *testing.T) {
	for at := range 4 { // of the taker's steps: looked, gave its id, took, wrote
		w := newTown(t)
		var taker commands.Outcome
		w.meet(1, func() error { // the holder has the address and pauses
			w.later(2 * time.Minute)
			w.meet(at, func() error { // the taker pauses as well
				return errKilled
			})
			taker = w.create("menu", "c1")
			return nil
		})
		holder := w.create("menu", "")
		if taker.Outcome != commands.Unknown || holder.Outcome != commands.Done {
			t.Fatalf("after %d: %s, %s", at, says(taker), says(holder))
		}
		w.restart()
		taker = w.create("menu", "c1")
		homeless, stale := w.sound()
		switch {
		case at < 2 && (says(taker) != "refused taken" || len(homeless) > 0):
			t.Errorf("the holder came first: %s, %v", says(taker), homeless)
		case at >= 2 && (says(taker) != commands.Done || !slices.Equal(homeless, []string{holder.Target.ID})):
			t.Errorf("the taker came first: %s, %v", says(taker), homeless)
		}
		if len(stale) > 0 {
			t.Errorf("after %d: %v", at, stale)
		}
	}
}

// TestTheHolderIsFinishedMeanwhile: a claim is about to be taken over while
// somebody finishes what its holder began. Before the taker's append has looked,
// the taker is refused; after that both are there, as above.
func TestTheHolderIsFinishedMeanwhile(t *testing.T) {
	for at := asked; at < 3; at++ {
		w := newTown(t)
		w.meet(2, func() error { return errKilled })
		w.create("menu", "c1")
		w.later(2 * time.Minute)
		var holder commands.Outcome
		w.meet(at, func() error {
			holder = w.elsewhere(func() commands.Outcome { return w.create("menu", "c1") })
			return nil
		})
		taker := w.create("menu", "")
		homeless, stale := w.sound()
		want := map[int]string{asked: "done, refused taken, 0 homeless", 0: "done, done, 1 homeless", 1: "refused taken, done, 0 homeless", 2: "refused taken, done, 0 homeless"}[at]
		if got := fmt.Sprintf("%s, %s, %d homeless", says(holder), says(taker), len(homeless)); got != want {
			t.Errorf("after %d: %s, not %s", at, got, want)
		}
		if len(stale) > 0 {
			t.Errorf("after %d: %v", at, stale)
		}
	}
}

// TestManyAtOnceOnALogThatIsNotAtomic: whoever asks at once for the same
// addresses and under the same ids, each id is done once and each address has
// one holder.
func TestManyAtOnceOnALogThatIsNotAtomic(t *testing.T) {
	w := newTown(t)
	w.made("soil")
	var all sync.WaitGroup
	for i := range 8 {
		road := w.road
		if i%2 == 1 {
			w.restart()
		}
		mine := &town{t: t, log: w.log, road: w.road, desk: w.desk, named: map[string]string{"$soil": w.named["$soil"]}}
		w.road = road
		all.Go(func() {
			for j := range 10 {
				mine.create("n"+strconv.Itoa(j), "c"+strconv.Itoa(j))
				mine.create("n"+strconv.Itoa(j), "")
				mine.act(policy.Bypass, "article.update", args{"article": "$soil", "slug": "s" + strconv.Itoa(j%3), "command_id": "m" + strconv.Itoa(j)})
				mine.act(policy.Manual, "article.update", args{"article": "$soil", "title": "T" + strconv.Itoa(j), "command_id": "p" + strconv.Itoa(j)})
			}
		})
	}
	all.Wait()
	if homeless, _ := w.sound(); len(homeless) > 0 {
		t.Errorf("without their address: %v", homeless)
	}
	if n := len(w.census().articles); n != 11 {
		t.Errorf("%d articles, not 11", n)
	}
}

// TestWhatIsBegunIsNotAnotherCommand: an id that was given and not yet used is
// still that of the first request.
func TestWhatIsBegunIsNotAnotherCommand(t *testing.T) {
	w := newTown(t)
	w.meet(1, func() error { return errKilled })
	w.create("menu", "c1")
	if out := w.create("soil", "c1"); says(out) != "refused command-reused" {
		t.Errorf("%+v", out)
	}
	if out := w.create("menu", "c1"); says(out) != commands.Done {
		t.Errorf("%+v", out)
	}
}

// TestBegunInOneModeAndAskedAgainInAnother: what was to be done waits now, or
// the other way round. It comes to one end.
func TestBegunInOneModeAndAskedAgainInAnother(t *testing.T) {
	for _, modes := range [][2]policy.Mode{{policy.Bypass, policy.Manual}, {policy.Manual, policy.Bypass}} {
		w := newTown(t)
		ask := func(mode policy.Mode) commands.Outcome {
			return w.act(mode, "article.create", args{"site": "main", "slug": "menu", "title": "Menu", "body": "", "command_id": "c1"})
		}
		w.meet(1, func() error { return errKilled })
		ask(modes[0])
		first := ask(modes[1])
		for _, mode := range modes {
			if out := ask(mode); briefly(t, out) != briefly(t, first) {
				t.Errorf("%v: %s, and then %s", modes, briefly(t, first), briefly(t, out))
			}
		}
		w.sound()
		if n := len(w.effectsOf("c1")); n != 1 {
			t.Errorf("%v: %d ends", modes, n)
		}
	}
}
