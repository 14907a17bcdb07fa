package projections_test

import (
	"testing"
	"time"

	"assent/commands"
	"assent/commands/eventlog/memory"
	"assent/domain"
	"assent/domain/article"
	"assent/projections"
)

var _ commands.Pending = (*projections.Store)(nil)
var _ projections.Source = commands.Log(nil)

func TestMem(t *testing.T) {
	l := memory.New(time.Now)
	s := open(t, fresh(t))
	run(t, s, l)
	j := newJournal(t)
	w, r, d, _ := j.words.Spell(article.Created{Site: "main", Title: "x"})
	for i := range 3 {
		rc, err := l.Append(t.Context(), commands.Write{Stream: at("article", string(rune('a'+i))), Events: []domain.Fresh{{ID: domain.ID("evt_" + string(rune('a'+i))), Word: w, Revision: r, Data: d, Envelope: by("act_1")}}})
		if err != nil {
			t.Fatal(err)
		}
		see(t, s, rc.Position)
	}
}
