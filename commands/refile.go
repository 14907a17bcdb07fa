package commands

import (
	"encoding/json"
	"fmt"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/batch"
	"assent/domain/proposal"
)

// refile takes what a proposal held down the road once more: one call as itself,
// several as they were asked for.
func (t *trip) refile(id string) error {
	if !plainID.MatchString(id) {
		return proposal.Proposal{}.Refilable(t.call.Principal)
	}
	history, err := t.road.things.history(t.ctx, t.streamOf(action.Ref{Category: proposal.Kind.Category, ID: id}))
	if err != nil {
		return err
	}
	state, err := proposal.Kind.Fold(eventsOf(history))
	if err != nil {
		return err
	}
	p := state.(proposal.Proposal)
	if err := p.Refilable(t.call.Principal); err != nil {
		return err
	}
	calls, err := askedAgain(p)
	if err != nil {
		return err
	}
	switch {
	case p.Card.Together:
		t.cmd.Args = batch.RunArgs{Calls: calls, Atomic: true}
	case ofSeveral(p):
		t.cmd.Args = batch.FileArgs{Calls: calls}
	default:
		return t.refileOne(calls)
	}
	return nil
}

// refileOne asks for one call again.
func (t *trip) refileOne(calls []batch.Call) error {
	own := map[string]any{}
	if t.cmd.CommandID != "" {
		own["command_id"] = string(domain.Derive("part", string(t.id), "1"))
	}
	if t.cmd.DryRun {
		own["dry_run"] = true
	}
	call, err := t.partOf(calls, 0, func(int) (string, bool) { return "", false }, own)
	if err != nil {
		return err
	}
	call.Correlation = t.call.Correlation
	out, err := t.road.Do(t.ctx, call)
	if err == nil {
		t.answer = &out
	}
	return err
}

// askedAgain are a proposal's calls as they would be asked for now. What one of
// them was to make never was: those after it name the part instead of its id.
func askedAgain(p proposal.Proposal) ([]batch.Call, error) {
	var calls []batch.Call
	parts := map[string]string{} // id → $part.n
	for i, c := range p.Calls {
		var args map[string]any
		if err := json.Unmarshal(c.Args, &args); err != nil {
			return nil, fmt.Errorf("the arguments of part %d: %w", c.Part, err)
		}
		calls = append(calls, batch.Call{Tool: c.Action, Arguments: named(args, parts).(map[string]any)})
		if target, err := domain.ParseStream(c.Target); err == nil && isNew(p, c) {
			parts[target.ID] = fmt.Sprintf("$part.%d", i+1)
		}
	}
	return calls, nil
}

// isNew says that a call was to make its target.
func isNew(p proposal.Proposal, c proposal.Called) bool {
	for _, r := range p.Card.Reads {
		if r.Stream == c.Target {
			return r.Version == 0
		}
	}
	return false
}

// named copies a value with ids replaced by what names them.
func named(v any, names map[string]string) any {
	switch v := v.(type) {
	case string:
		if name, ok := names[v]; ok {
			return name
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = named(v[i], names)
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for key, value := range v {
			fields[key] = named(value, names)
		}
		return fields
	}
	return v
}
