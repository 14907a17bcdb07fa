package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/catalogue"
	"assent/domain/policy"
	"assent/domain/skill"
	"assent/httpapi"
	"assent/mcp/skills"
)

// skillsCmd looks at ways of working.
type skillsCmd struct {
	List  skillsListCmd  `cmd:"" help:"Which skills the data folder holds, and what each narrows a call to."`
	Check skillsCheckCmd `cmd:"" help:"Read a folder of skills as the server would; exit 1 when one of them cannot be used."`
}

type (
	skillsListCmd  struct{}
	skillsCheckCmd struct {
		Dir string `arg:"" help:"A folder with a folder for each skill." type:"existingdir"`
	}
)

// skillLine is one skill as it is listed.
type skillLine struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Digest      string   `json:"digest,omitempty"`
	Scopes      []string `json:"scopes,omitzero"` // left out: it does not narrow
	Approval    []string `json:"approval,omitempty"`
	Files       int      `json:"files,omitempty"`
	Wrong       string   `json:"wrong,omitempty"` // why it cannot be used
}

// Run lists those of the data folder.
func (c *skillsListCmd) Run(e *env) error {
	_, err := e.skills(skillsIn(e.Data))
	return err
}

// Run checks a folder.
func (c *skillsCheckCmd) Run(e *env) error {
	wrong, err := e.skills(c.Dir)
	if err == nil && wrong > 0 {
		err = ended{exitFound, ""}
	}
	return err
}

// skills prints what a folder holds and says how many cannot be used.
func (e *env) skills(dir string) (wrong int, err error) {
	registry, err := catalogue.Actions()
	if err != nil {
		return 0, err
	}
	all, bad, err := libraryAt(dir, registry).List()
	if err != nil {
		return 0, err
	}
	lines := []skillLine{}
	for _, s := range all {
		lines = append(lines, skillLine{s.Name, s.Front.Description, s.Digest, s.Scopes, s.Approval, len(s.Files), ""})
	}
	for _, b := range bad {
		lines = append(lines, skillLine{Name: b.Name, Wrong: b.Why})
	}
	if e.JSON {
		return len(bad), json.NewEncoder(e.out).Encode(lines)
	}
	t := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "SKILL\tFILES\tDIGEST\tREACHES\tWAITS")
	for _, l := range lines {
		switch {
		case l.Wrong != "":
			fmt.Fprintf(t, "%s\t%s\n", l.Name, l.Wrong)
		case l.Scopes == nil:
			fmt.Fprintf(t, "%s\t%d\t%.19s\twhat its caller may\t%s\n", l.Name, l.Files, l.Digest, strings.Join(l.Approval, " "))
		default:
			fmt.Fprintf(t, "%s\t%d\t%.19s\t%s\t%s\n", l.Name, l.Files, l.Digest, strings.Join(l.Scopes, " "), strings.Join(l.Approval, " "))
		}
	}
	return len(bad), t.Flush()
}

// skillsIn is where a data folder keeps its skills.
func skillsIn(data string) string { return filepath.Join(data, "skills") }

// libraryAt reads the skills of a folder by this program's own names.
func libraryAt(dir string, registry *action.Registry) *skills.Library {
	return skills.Open(dir, policy.Scopes, nil, func(name string) (string, bool) {
		a, ok := registry.Find(name)
		if !ok || !a.Writes() {
			return "", false
		}
		return a.Name, true
	})
}

// Skills are those of the data folder, and what people have said of them.
func (r reader) Skills(ctx context.Context, ws string) ([]httpapi.Skill, error) {
	all, bad, err := r.skills.List()
	if err != nil {
		return nil, err
	}
	rows := []httpapi.Skill{}
	for _, s := range all {
		row := httpapi.Skill{Name: s.Name, Description: s.Front.Description, Digest: s.Digest, Scopes: s.Scopes, Approval: s.Approval}
		for _, f := range s.Files {
			row.Files = append(row.Files, httpapi.SkillFile{Path: f.Path, Size: f.Size, Digest: f.Digest})
		}
		said, err := r.log.ReadStream(ctx, domain.Stream{Category: skill.Kind.Category, Workspace: ws, ID: s.Name}, 0)
		if err != nil {
			return nil, err
		}
		for _, e := range said { // the last word counts
			read, err := r.road.Words.Read(e)
			if err != nil {
				return nil, err
			}
			if accepted, ok := read.Event.(skill.Accepted); ok {
				row.Accepted = &httpapi.Accepted{Digest: accepted.Digest, By: e.Envelope.Principal.ID, At: e.At}
				row.Changed = skill.Skill{Accepted: accepted.Digest}.Changed(s.Digest)
			}
		}
		rows = append(rows, row)
	}
	for _, b := range bad {
		rows = append(rows, httpapi.Skill{Name: b.Name, Wrong: b.Why})
	}
	return rows, nil
}

// declared are the skills of a folder as policy is asked about them.
type declared struct{ *skills.Library }

// Skill reads one. Where a skill does not narrow it reaches whatever there is.
func (d declared) Skill(_ context.Context, _, name string) (policy.Skill, error) {
	s, err := d.Get(name)
	if err != nil {
		return policy.Skill{}, err
	}
	reach := s.Scopes
	if reach == nil {
		reach = policy.Scopes
	}
	return policy.Skill{Name: s.Name, Known: true, Digest: s.Digest, Scopes: reach, Approval: s.Approval}, nil
}
