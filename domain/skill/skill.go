// Package skill is what people have said of a way of working: which version of
// its files an owner has looked at. The files themselves lie in a folder and are
// read when somebody asks; a skill that nobody has said anything about has no
// stream.
package skill

import (
	"regexp"
	"strings"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// Skill is what was said of one, by its name.
type Skill struct {
	Accepted string // the digest of the files an owner has looked at; empty: none yet
}

// Fields show what was accepted.
func (s Skill) Fields() []domain.Field { return []domain.Field{{Name: "digest", Value: s.Accepted}} }

// Changed says that files of this digest are not those that an owner has looked
// at. Where nobody has looked yet there is nothing to go by.
func (s Skill) Changed(digest string) bool { return s.Accepted != "" && s.Accepted != digest }

// Kind is skills as the road sees them.
var Kind = action.KindOf[Skill, Event]("skill", "", Words)

// Event is a fact about one skill.
type Event interface{ domain.Event[Skill, Event] }

// Words are the names in the log. They outlive the code: never reuse one.
var Words = []vocab.Word{
	vocab.Say[Accepted]("skill.accepted"),
}

// Accepted says that an owner has looked at the files of this digest: from now
// on writes under any other wait.
type Accepted struct {
	Digest string `json:"digest"` // sha256:…
}

// Evolve notes which.
func (e Accepted) Evolve(s Skill) Skill {
	s.Accepted = e.Digest
	return s
}

// Reverse is nil: what was looked at was looked at. Accept another.
func (Accepted) Reverse(Skill) Event { return nil }

// Actions are everything that can be asked of skills.
var Actions = []*action.Action{Accept}

// AcceptArgs says which files of a skill are as they should be.
type AcceptArgs struct {
	Skill  string `json:"skill" jsonschema:"the skill's name"`
	Digest string `json:"digest" jsonschema:"of its files, as you looked at them (sha256:…)"`
}

// Target is the skill, by its name.
func (a AcceptArgs) Target() string { return a.Skill }

// Accept keeps to a skill's files as they are.
var Accept = action.Of(Kind, accept, AcceptArgs{"house-voice", "sha256:" + strings.Repeat("0", 64)}, action.Facts{
	Name:       "skill.accept",
	Title:      "Keep to a skill as it is",
	About:      "Says that an owner has looked at these files of a skill. Changes made under other files of it wait for a person.",
	Class:      action.People,
	Scope:      "workspace:manage",
	Permission: "workspace.manage",
	Final:      true,
})

var (
	nameForm   = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`) // the Agent Skills format's
	digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

func accept(s Skill, a AcceptArgs) ([]Event, error) {
	switch {
	case len(a.Skill) > 64 || !nameForm.MatchString(a.Skill):
		return nil, domain.Refuse("invalid", "A skill's name is of small letters, digits and single hyphens, 64 at most.")
	case !digestForm.MatchString(a.Digest):
		return nil, domain.Refuse("invalid", "The digest is `sha256:` and 64 hexadecimal digits: take it from the list of skills.")
	case s.Accepted == a.Digest:
		return nil, nil
	}
	return []Event{Accepted{a.Digest}}, nil
}
