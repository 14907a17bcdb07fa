package action

import (
	"fmt"
	"slices"
	"strings"
)

// Registry is every action there is. What is not in it does not exist.
type Registry struct {
	actions []*Action
	named   map[string]*Action
}

// Never is what no action may be, whatever it calls itself: names that begin
// so stop start-up. An agent that asks for one is told that it is never done
// here.
var Never = []string{
	"proposal.approve", "proposal.decline", "proposal.confirm", "action.undo",
	"mode.", "scope.", "permission.", "role.",
	"billing.", "deploy.", "merge.", "shell.", "secret.",
	"site.delete", "workspace.delete", "person.remove_by_agent", "project.delete", "task.delete",
	"log.delete", "log.edit", "audit.delete", "audit.edit",
}

// NeverListed says that a name, or the name of a tool, is on the never-list.
func NeverListed(name string) bool {
	tool := toolName(name)
	return slices.ContainsFunc(Never, func(n string) bool {
		return tool == toolName(n) || strings.HasSuffix(n, ".") && strings.HasPrefix(tool, toolName(n))
	})
}

// Register joins lists of actions. It fails, and so does start-up, on an
// action that is never-listed, named twice (also as a tool), unscoped, without
// permission or without a sentence about itself.
func Register(lists ...[]*Action) (*Registry, error) {
	r := &Registry{named: map[string]*Action{}}
	for _, list := range lists {
		for _, a := range list {
			if err := fit(a); err != nil {
				return nil, err
			}
			if r.named[a.Name] != nil || r.named[a.Tool()] != nil {
				return nil, fmt.Errorf("action %s is declared twice", a.Name)
			}
			r.named[a.Name], r.named[a.Tool()] = a, a
			r.actions = append(r.actions, a)
		}
	}
	slices.SortFunc(r.actions, func(a, b *Action) int { return strings.Compare(a.Name, b.Name) })
	return r, nil
}

func fit(a *Action) error {
	kind, verb, ok := strings.Cut(a.Name, ".")
	named := ok && kind != "" && verb != "" || a.Name == "whoami" || a.Name == "batch"
	switch {
	case !named:
		return fmt.Errorf("action %q is not named kind.verb", a.Name)
	case NeverListed(a.Name):
		return fmt.Errorf("action %s is on the never-list", a.Name)
	case a.Scope == "":
		return fmt.Errorf("action %s has no scope", a.Name)
	case a.Permission == "":
		return fmt.Errorf("action %s has no permission", a.Name)
	case a.Title == "" || a.About == "":
		return fmt.Errorf("action %s does not say what it is", a.Name)
	}
	return nil
}

// Find is the action of that name or tool name.
func (r *Registry) Find(name string) (*Action, bool) {
	a, ok := r.named[name]
	return a, ok
}

// All is every action, by name.
func (r *Registry) All() []*Action { return slices.Clone(r.actions) }
