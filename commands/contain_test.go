package commands_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assent/commands"
	"assent/commands/eventlog/memory"
	"assent/domain"
	"assent/domain/containment"
	"assent/domain/person"
	"assent/domain/policy"
)

// Touched finds what a scope's doings changed by reading the whole log.
func (l tracing) Touched(ctx context.Context, ws string, scope containment.Scope, before string, limit int, _ domain.Position) (list []domain.Stream, err error) {
	all, err := l.log.ReadAll(ctx, 0, 1e6)
	found := map[domain.Stream]bool{}
	for _, r := range all {
		name := r.Stream.Category + "/" + r.Stream.ID
		if c := r.Stream.Category; c != "article" && c != "live" && c != "agent" || r.Stream.Workspace != ws {
			continue
		}
		if scope.Covers(domain.Recorded{Record: r}) && (before == "" || name < before) {
			found[r.Stream] = true
		}
	}
	list = slices.SortedFunc(maps.Keys(found), func(a, b domain.Stream) int { return cmp.Compare(b.String(), a.String()) })
	return list[:min(limit, len(list))], err
}

// Containing lists every containment.
func (l tracing) Containing(ctx context.Context) (list []domain.Stream, err error) {
	all, err := l.log.ReadAll(ctx, 0, 1e6)
	for _, r := range all {
		if r.Stream.Category == containment.Kind.Category && r.Version == 1 {
			list = append(list, r.Stream)
		}
	}
	return list, err
}

// mine is everything that the local agent of these tests did.
var mine = commands.Containing{Scope: containment.Scope{Agent: "local:me", Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}

func (w *town) contain(wish commands.Containing) (commands.Outcome, error) {
	return w.desk.Contain(w.t.Context(), ana, wish)
}

// byAna is an action that a person takes.
func (w *town) byAna(name string, a args) commands.Outcome {
	w.t.Helper()
	out, err := w.road.Do(w.t.Context(), commands.Call{
		Workspace: ws, Action: name, Args: spelt(w.t, a),
		Principal: domain.Principal{Kind: domain.KindPerson, ID: ana.ID()}, Person: ana.ID(), Via: domain.Via{Session: ana.Session()},
	})
	if err != nil || out.Outcome != commands.Done {
		w.t.Fatalf("%s: %+v, %v", name, out, err)
	}
	return out
}

// newCity is a town on a log that is Atomic.
func newCity(t *testing.T) *town {
	t.Helper()
	w := newTown(t)
	log := memory.New(w.now)
	all, err := w.log.ReadAll(t.Context(), 0, 1e6)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if _, err := log.Append(t.Context(), commands.Write{Stream: r.Stream, Expect: r.Version - 1, Events: []domain.Fresh{r.Fresh}}); err != nil {
			t.Fatal(err)
		}
	}
	w.log.Log = log
	w.restart()
	return w
}

// TestAContainmentIsKilledAnywhereAndGoesOn: wherever the process dies, another
// goes on, what was clean is taken back once, and the counts are right.
func TestAContainmentIsKilledAnywhereAndGoesOn(t *testing.T) {
	for _, build := range []func(*testing.T) *town{newTown, newCity} {
		for kill := 0; ; kill++ {
			w := build(t)
			for _, slug := range []string{"one", "two", "three"} {
				w.made(slug)
			}
			moved := w.act(policy.Bypass, "article.update", args{"article": "$one", "slug": "first", "title": "New"})
			w.byAna("article.update", args{"article": w.named["$two"], "title": "Ana's"})
			if moved.Outcome != commands.Done {
				t.Fatalf("%+v", moved)
			}
			steps := 0
			w.mu.Lock()
			w.between = func(int) error {
				if steps++; steps == kill+1 {
					w.nobody()
					return errKilled
				}
				return nil
			}
			w.mu.Unlock()
			_, _ = w.contain(mine)
			survived := w.nobody()
			w.restart()
			if err := w.road.TendOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			out, err := w.contain(mine) // whatever came of it: now it is done
			if err != nil || out.Contained.State != "settled" {
				t.Fatalf("killed at %d: %+v, %v", kill, out, err)
			}
			c := w.census()
			if one, three := c.articles[w.named["$one"]], c.articles[w.named["$three"]]; one.Exists || three.Exists {
				t.Errorf("killed at %d: %+v, %+v are still there", kill, one, three)
			}
			if two := c.articles[w.named["$two"]]; !two.Exists || two.Title != "Ana's" {
				t.Errorf("killed at %d: later work is lost: %+v", kill, two)
			}
			// An address that is let go last may stay behind on a log that is not
			// Atomic: it is anybody's after a minute.
			if homeless, stale := w.sound(); len(homeless) > 0 || len(stale) > 0 && w.log.Atomic() {
				t.Errorf("killed at %d: %v, %v", kill, homeless, stale)
			}
			w.settledOnce(3, 1)
			if survived {
				break
			}
			if kill > 100 {
				t.Fatal("this never ends")
			}
		}
	}
}

// settledOnce says that every containment is settled once, and that they took
// back and left so many actions between them: the first one all of them.
func (w *town) settledOnce(taken, conflicting int) {
	w.t.Helper()
	streams, err := tracing{w.log}.Containing(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	sum := 0
	for _, s := range streams {
		got, err := w.desk.Contained(w.t.Context(), ana, s.ID)
		if err != nil || got.State != "settled" || got.Conflicting != conflicting {
			w.t.Errorf("%+v, %v", got, err)
		}
		sum += got.Taken
	}
	if sum != taken {
		w.t.Errorf("%d actions are counted as taken back, not %d", sum, taken)
	}
}

// TestManyContainAtOnceAndItIsDoneOnce: several people and the one who goes on
// with what was begun, at the same moment.
func TestManyContainAtOnceAndItIsDoneOnce(t *testing.T) {
	w := newCity(t)
	for i := range 70 { // more than a portion
		w.made(fmt.Sprintf("a%d", i))
		w.act(policy.Bypass, "article.update", args{"article": fmt.Sprintf("$a%d", i), "title": "New"})
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if i%2 == 1 {
				if err := w.road.TendOnce(t.Context()); err != nil && !errors.Is(err, commands.ErrBusy) {
					t.Error(err)
				}
				return
			}
			wish := mine
			wish.CommandID = "once"
			if out, err := w.contain(wish); err != nil || out.Outcome != commands.Done {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
	all.Wait()
	if err := w.road.TendOnce(t.Context()); err != nil {
		t.Error(err)
	}
	for id, a := range w.census().articles {
		if a.Exists {
			t.Errorf("%s is still there", id)
		}
	}
	w.sound()
	w.settledOnce(140, 0)
}

// TestAThingThatWasChangedAThousandTimesGoesBackInPortions: a portion is judged as if the newer ones, which are back by then, had never been.
func TestAThingThatWasChangedAThousandTimesGoesBackInPortions(t *testing.T) {
	w := newCity(t)
	id := w.byAna("article.create", args{"site": "main", "slug": "soil", "title": "Soil", "body": "Loam."}).Target.ID
	for i := range 1000 {
		if out := w.act(policy.Bypass, "article.update", args{"article": id, "title": fmt.Sprintf("Spam %d", i)}); out.Outcome != commands.Done {
			t.Fatalf("%+v", out)
		}
	}
	out, err := w.contain(mine)
	if err != nil || out.Contained.State != "settled" || out.Contained.Taken != 1000 {
		t.Fatalf("%+v, %v", out.Contained, err)
	}
	if got := w.census().articles[id]; got.Title != "Soil" {
		t.Errorf("it is called %q", got.Title)
	}
}

// TestTheSameUndoAskedByManyAtOnceIsDoneOnce: who names their asking gets the first answer; the others are told.
func TestTheSameUndoAskedByManyAtOnceIsDoneOnce(t *testing.T) {
	for _, commandID := range []string{"", "once"} {
		w := newCity(t)
		w.made("soil")
		edit := w.act(policy.Bypass, "article.update", args{"article": "$soil", "title": "New"})
		var mu sync.Mutex
		ends := map[string]int{}
		acts := map[domain.ID]bool{}
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				out, err := w.desk.Undo(t.Context(), ana, edit.Action, commands.Taking{CommandID: commandID})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				ends[says(out)]++
				if out.Outcome == commands.Done {
					acts[out.Action] = true
				}
			})
		}
		all.Wait()
		want := map[string]int{"done": 1, "refused already-decided": 15}
		if commandID != "" {
			want = map[string]int{"done": 16}
		}
		if !maps.Equal(ends, want) || len(acts) != 1 {
			t.Errorf("with %q: %v, %d undos", commandID, ends, len(acts))
		}
		w.sound()
	}
}

// TestASessionGoesBackWithItsUndos: what a session did and took back itself
// stays back, and what it took back of others comes again.
func TestASessionGoesBackWithItsUndos(t *testing.T) {
	w := newCity(t)
	w.made("soil")
	w.made("menu")
	theirs := w.act(policy.Bypass, "article.update", args{"article": "$soil", "title": "Theirs"})
	for _, edit := range []domain.ID{theirs.Action, w.byAna("article.update", args{"article": w.named["$menu"], "body": "Hers."}).Action} {
		if out, err := w.desk.Undo(t.Context(), ana, edit, commands.Taking{}); err != nil || out.Outcome != commands.Done {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	w.byAna("article.update", args{"article": w.named["$menu"], "title": "Hers"})
	out, err := w.contain(commands.Containing{Scope: containment.Scope{Session: ana.Session()}})
	if err != nil || out.Contained.Taken != 2 || out.Contained.Conflicting+out.Contained.Impossible != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	c := w.census()
	if soil, menu := c.articles[w.named["$soil"]], c.articles[w.named["$menu"]]; soil.Title != "Theirs" || menu.Title != "Old" || menu.Body != "" {
		t.Errorf("%+v, %+v", soil, menu)
	}
}

// TestOnesOwnSessionOrAnOwners: nobody but an owner takes back what somebody
// else did in theirs.
func TestOnesOwnSessionOrAnOwners(t *testing.T) {
	w := newCity(t)
	w.seat("person_ed", policy.Editor)
	ed := domain.SignedIn(ws, "person_ed", "sess_2")
	for session, want := range map[string]string{"sess_2": "done", ana.Session(): "refused permission"} {
		out, err := w.desk.Contain(t.Context(), ed, commands.Containing{Scope: containment.Scope{Session: session}})
		if err != nil || says(out) != want {
			t.Errorf("%s: %s, %v", session, says(out), err)
		}
	}
}

// TestAProposalAsAWholeForAQuarterOfAnHour: then its actions one by one.
func TestAProposalAsAWholeForAQuarterOfAnHour(t *testing.T) {
	w := newCity(t)
	w.seat("person_ed", policy.Editor)
	ed := domain.SignedIn(ws, "person_ed", "sess_2")
	w.made("soil")
	held := w.act(policy.Manual, "article.update", args{"article": "$soil", "title": "New"})
	whole := commands.Containing{Scope: containment.Scope{Proposal: held.Proposal.(*commands.Held).ID}}
	contain := func(by domain.Person) string {
		out, err := w.desk.Contain(t.Context(), by, whole)
		if err != nil {
			t.Fatal(err)
		}
		return says(out)
	}
	if got := contain(ed); got != "refused final" {
		t.Errorf("while it waits: %s", got)
	}
	approved, err := w.desk.Approve(t.Context(), ana, whole.Proposal, "")
	if err != nil || approved.Outcome != commands.Done {
		t.Fatalf("%+v, %v", approved, err)
	}
	w.later(16 * time.Minute)
	if got := contain(ed); got != "refused undo-window" {
		t.Errorf("after a quarter of an hour: %s", got)
	}
	if out, err := w.desk.Undo(t.Context(), ed, approved.Action, commands.Taking{}); err != nil || out.Outcome != commands.Done {
		t.Errorf("one by one: %+v, %v", out, err)
	}
	whole.Late = true
	if got := contain(ed); got != "refused permission" {
		t.Errorf("late, by an editor: %s", got)
	}
	if got := contain(ana); got != "done" {
		t.Errorf("late, by an owner: %s", got)
	}
}

// TestWhatIsBeingDoneIsNotTakenBackYet: neither what was approved and is not
// settled, nor what is itself being taken back.
func TestWhatIsBeingDoneIsNotTakenBackYet(t *testing.T) {
	w := newCity(t)
	w.made("soil")
	held := w.act(policy.Manual, "article.update", args{"article": "$soil", "title": "New"})
	proposal := held.Proposal.(*commands.Held).ID
	w.dieAt(2)
	if _, err := w.desk.Approve(t.Context(), ana, proposal, ""); err == nil {
		t.Fatal("it was carried out")
	}
	w.dieAt(2)
	if out, err := w.contain(mine); err != nil || out.Contained.State != "running" {
		t.Fatalf("%+v, %v", out, err)
	}
	w.nobody()
	containing, err := tracing{w.log}.Containing(t.Context())
	if err != nil || len(containing) != 1 {
		t.Fatalf("%v, %v", containing, err)
	}
	for name, scope := range map[string]containment.Scope{"the proposal": {Proposal: proposal}, "the containment": {Batch: containing[0].ID}} {
		if out, err := w.contain(commands.Containing{Scope: scope}); err != nil || says(out) != "refused busy" {
			t.Errorf("%s: %s, %v", name, says(out), err)
		}
	}
	if out, err := w.desk.Undo(t.Context(), ana, held.Action, commands.Taking{}); err != nil || says(out) != "refused busy" {
		t.Errorf("what asked for it: %s, %v", says(out), err)
	}
}

// dieAt kills the n-th append from now on, before anything of it is written.
func (w *town) dieAt(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.between = func(i int) error {
		if i == asked {
			n--
		}
		if n > 0 {
			return nil
		}
		w.nobody()
		return errKilled
	}
}

// TestWhatWasTakenBackIsNoLaterWork: an older edit can be taken back after a
// newer one of somebody else was.
func TestWhatWasTakenBackIsNoLaterWork(t *testing.T) {
	w := newCity(t)
	w.made("soil")
	first := w.act(policy.Bypass, "article.update", args{"article": "$soil", "title": "First"})
	second := w.byAna("article.update", args{"article": w.named["$soil"], "title": "Second"})
	for _, step := range []struct {
		undo domain.ID
		want string
	}{{first.Action, "refused undo-conflict"}, {second.Action, "done"}, {first.Action, "done"}, {second.Action, "refused already-decided"}} {
		out, err := w.desk.Undo(t.Context(), ana, step.undo, commands.Taking{})
		if err != nil || says(out) != step.want {
			t.Errorf("%s, not %s: %+v, %v", says(out), step.want, out, err)
		}
	}
	if got := w.census().articles[w.named["$soil"]].Title; got != "Old" {
		t.Errorf("it is called %q", got)
	}
}

// TestLateIsARightOfOwnersAndSaidOnPurpose: nobody undoes late by the way, and
// an editor not at all.
func TestLateIsARightOfOwnersAndSaidOnPurpose(t *testing.T) {
	w := newCity(t)
	w.seat("person_ed", policy.Editor)
	ed := domain.SignedIn(ws, "person_ed", "sess_2")
	w.made("soil")
	edit := w.act(policy.Bypass, "article.update", args{"article": "$soil", "title": "New"})
	w.later(25 * time.Hour)
	w.act(policy.Bypass, "article.update", args{"article": "$soil", "body": "Loam."}) // log time goes with the log
	for _, step := range []struct {
		by   domain.Person
		late bool
		want string
	}{{ed, false, "refused undo-window"}, {ed, true, "refused permission"}, {ana, false, "refused undo-window"}, {ana, true, "done"}} {
		can, err := w.desk.Undoable(t.Context(), step.by, edit.Action)
		if err != nil || can.Late != (step.by == ana) {
			t.Errorf("%+v, %v", can, err)
		}
		out, err := w.desk.Undo(t.Context(), step.by, edit.Action, commands.Taking{Late: step.late})
		if err != nil || says(out) != step.want {
			t.Errorf("%s, late %v: %+v, %v", step.by.ID(), step.late, out, err)
		}
	}
	// What the person may not do themself, they may not undo, also in a group.
	w.seat("person_au", policy.Auditor)
	au := domain.SignedIn(ws, "person_au", "sess_3")
	for by, want := range map[domain.Person]string{ed: "refused permission", au: "refused permission"} {
		if out, err := w.desk.Contain(t.Context(), by, mine); err != nil || says(out) != want {
			t.Errorf("%s: %+v, %v", by.ID(), out, err)
		}
	}
}

func (w *town) seat(id string, role policy.Role) {
	w.t.Helper()
	out, err := w.road.Do(w.t.Context(), commands.Call{
		Workspace: ws, Principal: domain.Principal{Kind: domain.KindSystem, ID: "setup"}, Action: person.Seat.Name, Args: spelt(w.t, person.SeatArgs{Person: id, Role: string(role)}),
	})
	if err != nil || out.Outcome != commands.Done {
		w.t.Fatalf("%+v, %v", out, err)
	}
}

// TestLaterWorkOfOthersSurvivesEveryUndo: whatever is undone, one by one or
// together, a field that a person wrote last is as they wrote it, unless they
// took it back themself.
func TestLaterWorkOfOthersSurvivesEveryUndo(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newCity(t)
		w.made("one")
		w.made("two")
		var acts []domain.ID
		wrote := map[string]string{} // article field → what Ana wrote there last; absent: not she
		for range rapid.IntRange(1, 15).Draw(r, "steps") {
			name := rapid.SampledFrom([]string{"$one", "$two"}).Draw(r, "thing")
			field := rapid.SampledFrom([]string{"title", "body", "summary"}).Draw(r, "field")
			text := rapid.SampledFrom([]string{"A", "B", "C"}).Draw(r, "text")
			at := w.named[name] + " " + field
			switch rapid.IntRange(0, 4).Draw(r, "who") {
			case 0, 1:
				if out := w.act(policy.Bypass, "article.update", args{"article": name, field: text}); out.Outcome == commands.Done {
					acts = append(acts, out.Action)
					delete(wrote, at)
				}
			case 2, 3:
				out, err := w.road.Do(t.Context(), commands.Call{
					Workspace: ws, Action: "article.update", Args: spelt(t, args{"article": w.named[name], field: text}),
					Principal: domain.Principal{Kind: domain.KindPerson, ID: ana.ID()}, Person: ana.ID(), Via: domain.Via{Session: ana.Session()},
				})
				if err != nil {
					r.Fatal(err)
				}
				if out.Outcome == commands.Done {
					wrote[at] = text
				}
			case 4:
				if len(acts) > 0 {
					undo := rapid.SampledFrom(acts).Draw(r, "undo")
					if out, err := w.desk.Undo(t.Context(), ana, undo, commands.Taking{}); err != nil || out.Outcome == commands.Unknown {
						r.Fatalf("%+v, %v", out, err)
					}
				}
			}
			w.survive(r, wrote)
		}
		if out, err := w.contain(mine); err != nil || out.Contained.State != "settled" {
			r.Fatalf("%+v, %v", out, err)
		}
		w.survive(r, wrote)
	})
}

func (w *town) survive(r *rapid.T, wrote map[string]string) {
	for id, a := range w.census().articles {
		for field, is := range map[string]string{"title": a.Title, "body": a.Body, "summary": a.Summary} {
			if want, hers := wrote[id+" "+field]; hers && is != want {
				r.Fatalf("%s of %s is %q, and she wrote %q", field, id, is, want)
			}
			if _, hers := wrote[id+" "+field]; hers && !a.Exists {
				r.Fatalf("%s is gone with what she wrote", id)
			}
		}
	}
}
