package projections

import (
	"context"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/policy"
	"assent/domain/proposal"
	"assent/domain/workspace"
)

// ProposalArgs asks for proposals. What is left empty does not filter.
type ProposalArgs struct {
	Status string           // waiting, approved, settled, declined, withdrawn or expired
	Asker  domain.Principal // who asked
	action.Page
}

// Proposals lists what waits for a person and what became of the rest, newest
// first, without the cards' lines and the calls' arguments.
func (s *Store) Proposals(ctx context.Context, ws string, args ProposalArgs) (list []Proposal, next string, err error) {
	list = []Proposal{}
	c, err := cursorOf(ws, "proposals", args.Page)
	if err != nil {
		return list, "", err
	}
	f := query(`SELECT doc FROM {inbox} WHERE workspace = ?`, ws)
	f.equal("status", args.Status)
	if args.Asker != (domain.Principal{}) {
		f.equal("asker", args.Asker.String())
	}
	f.down("created", c)
	err = s.ask(ctx, "proposals", func(a asking) error {
		rows, more, err := pageOf(a, f, c, args.Page, func(r inboxRow) int64 { return int64(r.Created) }, all)
		for _, r := range rows {
			list = append(list, r.brief())
		}
		next = more
		return err
	})
	return list, next, err
}

// Waiting counts the proposals that wait for a person: those of one principal,
// or all when it is the zero principal.
func (s *Store) Waiting(ctx context.Context, ws string, asker domain.Principal) (n int, err error) {
	f := query(`SELECT COUNT(*) FROM {inbox} WHERE workspace = ? AND status = 'waiting'`, ws)
	if asker != (domain.Principal{}) {
		f.equal("asker", asker.String())
	}
	err = s.ask(ctx, "what waits", func(a asking) error {
		counts, err := rowsOf[int](a.ctx, a.tx, a.rows.sql(f.text), f.args...)
		if err == nil {
			n = counts[0]
		}
		return err
	})
	return n, err
}

// Proposal gives one proposal in full, or is refused not-found.
func (s *Store) Proposal(ctx context.Context, ws, id string) (p Proposal, err error) {
	err = s.glance(ctx, "a proposal", func(a asking) error {
		r, found, err := byKey[inboxRow](a, "inbox", ws, id)
		if err == nil && !found {
			err = domain.Refuse("not-found", "There is no such proposal. List the proposals to find its id.")
		}
		p = r.full()
		return err
	})
	return p, err
}

// Unfinished lists the proposals of every workspace that somebody must still
// end: approved and not settled, or waiting with their time over.
func (s *Store) Unfinished(ctx context.Context, now time.Time) ([]domain.Stream, error) {
	var list []domain.Stream
	err := s.ask(ctx, "what is unfinished", func(a asking) error {
		keys, err := rowsOf[string](a.ctx, a.tx, a.rows.sql(`SELECT key FROM {inbox} WHERE status IN ('approved', 'waiting') AND (status = 'approved' OR expires <= $1) ORDER BY created`), now.UnixMicro())
		for _, k := range keys {
			ws := workspaceOf(k)
			list = append(list, domain.Stream{Category: proposal.Kind.Category, Workspace: ws, ID: k[len(ws)+1:]})
		}
		return err
	})
	return list, err
}

// Agents lists a workspace's agents, oldest first.
func (s *Store) Agents(ctx context.Context, ws string, p action.Page) (list []Agent, next string, err error) {
	list = []Agent{}
	c, err := cursorOf(ws, "agents", p)
	if err != nil {
		return list, "", err
	}
	f := query(`SELECT doc FROM {agents} WHERE workspace = ?`, ws)
	f.up("created", c)
	err = s.ask(ctx, "agents", func(a asking) error {
		rows, more, err := pageOf(a, f, c, p, func(r agentRow) int64 { return int64(r.Position) }, all)
		for _, r := range rows {
			list = append(list, r.full())
		}
		next = more
		return err
	})
	return list, next, err
}

func (r agentRow) full() Agent {
	v := r.Agent
	v.Scopes, v.Keys = some(v.Scopes), some(v.Keys)
	return v
}

// Agent gives one agent, or is refused not-found.
func (s *Store) Agent(ctx context.Context, ws, id string) (v Agent, err error) {
	err = s.glance(ctx, "an agent", func(a asking) error {
		r, found, err := byKey[agentRow](a, "agents", ws, id)
		if err == nil && !found {
			err = domain.Refuse("not-found", "There is no such %s. List them to find its id.", agent.Kind.Category)
		}
		v = r.full()
		return err
	})
	return v, err
}

// People lists who has a seat, in the order they got it.
func (s *Store) People(ctx context.Context, ws string) (list []Seat, err error) {
	list = []Seat{}
	err = s.ask(ctx, "people", func(a asking) error {
		return docs(a, query(`SELECT doc FROM {people} WHERE workspace = ? ORDER BY created`, ws), func(r seatRow) bool {
			list = append(list, r.Seat)
			return true
		})
	})
	return list, err
}

// Role is a person's role, empty for who has no seat.
func (s *Store) Role(ctx context.Context, ws, person string) (role policy.Role, err error) {
	err = s.glance(ctx, "a seat", func(a asking) error {
		r, _, err := byKey[seatRow](a, "people", ws, person)
		role = r.Role
		return err
	})
	return role, err
}

// Workspace gives a workspace's rules; those that nobody touched are the zero
// value, which stands for the defaults.
func (s *Store) Workspace(ctx context.Context, ws string) (rules workspace.Workspace, err error) {
	err = s.glance(ctx, "a workspace", func(a asking) error {
		rules, _, err = byKey[workspace.Workspace](a, "settings", ws, workspace.ID)
		return err
	})
	return rules, err
}
