package httpapi

import (
	"net/http"
	"strings"

	"assent/commands"
	"assent/httpapi/card"
)

// undoView is an action that somebody is about to take back.
type undoView struct {
	actionView
	commands.Undoable
	ByRight bool // it is late, and this person may
	Fields  []threeColumns
	Open    bool // there is later work to choose about
}

// threeColumns is a field as it was, as it was set, and as it is now.
type threeColumns struct {
	Name               string // as choices name it
	Before, Set, Now   string
	Clean, Keep, Taken bool // Keep and Taken: as the person chose before
}

func (s *Server) undoView(r *http.Request, who caller, wish commands.Taking) (undoView, error) {
	v := undoView{}
	var err error
	if v.actionView, err = s.oneAction(r, who); err != nil {
		return v, err
	}
	if v.Undoable, err = s.desk.Undoable(r.Context(), who.person, v.ID); err != nil {
		return v, err
	}
	v.ByRight = v.Undoable.Late
	chosen := map[string]bool{}
	for _, n := range wish.Take {
		chosen[n] = true
	}
	for _, c := range v.Columns {
		name := c.Field
		if c.Of != "" {
			name = c.Of + "/" + c.Field
		}
		v.Open = v.Open || !c.Clean
		v.Fields = append(v.Fields, threeColumns{
			Name: name, Clean: c.Clean, Keep: !chosen[name], Taken: chosen[name],
			Before: card.Text(c.Before), Set: card.Text(c.Set), Now: card.Text(c.Now),
		})
	}
	return v, nil
}

// tooLate says that an action could be taken back once, and that its time is
// over.
func (s *Server) tooLate(row AuditRow) bool {
	a, known := s.registry.Find(row.Action)
	can := row.Action == "action.undo" || known && a.Writes() && !a.Final
	return can && row.Undo == nil && row.Outcome == commands.Done && row.Undone == ""
}

func (s *Server) undoPage(w http.ResponseWriter, r *http.Request, who caller) error {
	v, err := s.undoView(r, who, commands.Taking{})
	if err != nil {
		return err
	}
	return s.view(w, r, who, "audit", "Take back?", "undo.html", v)
}

// undoForm takes an action back. Fields in conflict are sent as keep or take,
// one for each.
func (s *Server) undoForm(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := form(w, r)
	if err != nil {
		return err
	}
	wish := commands.Taking{Reason: in.Get("reason"), Digest: in.Get("digest"), Late: in.Get("late") == "yes"}
	for name, values := range in {
		field, is := strings.CutPrefix(name, "field ")
		switch {
		case !is:
		case values[0] == "keep":
			wish.Keep = append(wish.Keep, field)
		case values[0] == "take":
			wish.Take = append(wish.Take, field)
		}
	}
	row, err := s.oneAction(r, who)
	if err != nil {
		return err
	}
	out, err := s.undo(r.Context(), who.person, row.ID, wish)
	if err == nil {
		return see(w, r, "/audit/"+string(row.ID), "undone", out)
	}
	v, broken := s.undoView(r, who, wish)
	if broken != nil {
		return broken
	}
	f, broken := s.framed(r, who, "audit", "Take back?", v)
	if broken != nil {
		return broken
	}
	return s.again(w, r, err, "undo.html", f)
}
