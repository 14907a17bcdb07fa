package commands_test

import (
	"encoding/json"
	"strings"
	"testing"

	"assent/commands"
	"assent/domain"
	"assent/domain/policy"
)

// wrote appends an event as a newer version of the program might: a word this
// one does not know, or a revision that it cannot read.
func (w *town) wrote(category, id string, after domain.Version, word string, revision int) domain.ID {
	w.t.Helper()
	act := domain.NewAction(w.now())
	_, err := w.log.Append(w.t.Context(), commands.Write{Stream: domain.Stream{Category: category, Workspace: ws, ID: id}, Expect: after, Events: []domain.Fresh{{
		ID: domain.Derive("evt", string(act)), Word: word, Revision: revision, Data: json.RawMessage(`{"ink":"gold"}`),
		Envelope: domain.Envelope{Action: act, Name: "article.illuminate", Principal: domain.Principal{Kind: domain.KindPerson, ID: ana.ID()}},
	}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return act
}

// TestNothingIsDecidedOverWhatANewerVersionWrote, in whatever way a decision
// comes upon it; what has nothing to do with it goes on.
func TestNothingIsDecidedOverWhatANewerVersionWrote(t *testing.T) {
	edit := func(w *town) commands.Outcome {
		return w.act(policy.Bypass, "article.update", args{"article": "$soil", "title": "New"})
	}
	undo := func(w *town, id domain.ID) commands.Outcome {
		out, err := w.desk.Undo(w.t.Context(), ana, id, commands.Taking{})
		if err != nil {
			w.t.Fatal(err)
		}
		return out
	}
	soil := func(w *town) { w.wrote("article", w.named["$soil"], 1, "article.illuminated", 1) }
	for name, tt := range map[string]struct {
		newer func(w *town)
		do    func(w *town) commands.Outcome
		all   bool // nothing at all can be decided there any more
	}{
		"an edit of what has an unknown word":  {soil, edit, false},
		"an edit of what has a newer revision": {func(w *town) { w.wrote("article", w.named["$soil"], 1, "article.updated", 9) }, edit, false},
		"a removal":                            {soil, deedOf("a removal"), false},
		"a publish":                            {soil, deedOf("a publish"), false},
		"a new article on a site with one":     {func(w *town) { w.wrote("site", "main", 1, "site.painted", 1) }, deedOf("a new article"), true},
		"a call in a workspace with one":       {func(w *town) { w.wrote("workspace", "settings", 1, "workspace.painted", 1) }, deedOf("a new article"), true},
		"an address with one":                  {func(w *town) { w.wrote("address", "main/posts/menu", 0, "address.lent", 1) }, deedOf("a new article"), false},
		"an undo of what has one":              {soil, func(w *town) commands.Outcome { return undo(w, domain.ID(w.named["making $soil"])) }, false},
		"an undo of what a newer version did": {
			func(w *town) { w.named["poem"] = string(w.wrote("poem", "poem_1", 0, "poem.written", 1)) },
			func(w *town) commands.Outcome { return undo(w, domain.ID(w.named["poem"])) },
			false,
		},
		"an approval": {func(w *town) {
			held := w.act(policy.Manual, "article.update", args{"article": "$soil", "title": "New"})
			w.named["held"] = held.Proposal.(*commands.Held).ID
			soil(w)
		}, func(w *town) commands.Outcome {
			out, err := w.desk.Approve(w.t.Context(), ana, w.named["held"], "")
			if err != nil {
				w.t.Fatal(err)
			}
			return out
		}, false},
		"a command that a newer version was given": {func(w *town) {
			w.wrote("command", string(domain.ActionFor(ws, "agent:local:me", "article.create", "c1")), 0, "command.lent", 1)
		}, deedOf("a new article"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			w.made("soil")
			tt.newer(w)
			out := tt.do(w)
			if says(out) != "refused unsupported" || !strings.Contains(out.Refusal.Reason, "newer version") {
				t.Errorf("%+v", out)
			}
			if out := w.create("elsewhere", ""); (out.Outcome == commands.Done) == tt.all {
				t.Errorf("what has nothing to do with it: %+v", out)
			}
		})
	}
}

// deedOf is one of the deeds, under an id of its caller's.
func deedOf(name string) func(w *town) commands.Outcome {
	for _, d := range deeds {
		if d.name == name {
			return func(w *town) commands.Outcome { return d.do(w, "c1") }
		}
	}
	return nil
}
