package httpapi

import (
	"context"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/policy"
	"assent/domain/proposal"
	"assent/httpapi/render"
)

// Road is the one road: commands.Road.
type Road interface {
	Do(ctx context.Context, call commands.Call) (commands.Outcome, error)
}

// Desk is where people decide: commands.Desk. A meant no is an outcome or a
// *domain.Refusal; both are understood.
type Desk interface {
	Approve(ctx context.Context, by domain.Person, proposal, digest string, parts ...int) (commands.Outcome, error)
	Decline(ctx context.Context, by domain.Person, proposal, code, words string) (commands.Outcome, error)
	Undo(ctx context.Context, by domain.Person, action domain.ID, wish commands.Taking) (commands.Outcome, error)
	// Undoable is what Undo would do, and writes nothing.
	Undoable(ctx context.Context, by domain.Person, action domain.ID) (commands.Undoable, error)
	// Plan tells what taking doings back together would come to, thing by thing.
	Plan(ctx context.Context, by domain.Person, wish commands.Containing, each func(commands.PlanLine) error) error
	// Contain takes doings back together, and goes on by itself.
	Contain(ctx context.Context, by domain.Person, wish commands.Containing) (commands.Outcome, error)
	// Contained is how far that has come.
	Contained(ctx context.Context, by domain.Person, id string) (commands.Contained, error)
}

// Seater seats the first owner of a workspace, as the system itself. It is
// refused (final) when the workspace ever had an owner: the log decides that,
// so two set-ups at once make one owner. Seating the same person again is
// answered as the first time.
type Seater interface {
	Seat(ctx context.Context, workspace, person string) (domain.Position, error)
}

// Accounts is what is kept beside the log: names, passwords, links, sessions
// and the hashes of keys. Secrets it gives out are given once. What it does
// not know is a refusal with the code not-found, what is used or over one with
// the code expired, and an email in use in the same workspace one with the code
// taken: of other workspaces no answer tells anything.
type Accounts interface {
	AddPerson(ctx context.Context, workspace, name, email string) (person string, err error)
	SetPassword(ctx context.Context, workspace, person, password string) error
	// SignIn takes as long for an email nobody has as for a wrong password,
	// and refuses both alike, as unauthorised.
	// Of several workspaces that hold the email the oldest seat comes in whose
	// password it is.
	SignIn(ctx context.Context, email, password string) (Seat, error)
	// SignInTo is SignIn to one workspace.
	SignInTo(ctx context.Context, workspace, email, password string) (Seat, error)

	MintLink(ctx context.Context, link Link, until time.Time) (token string, err error)
	PeekLink(ctx context.Context, token string) (Link, error)
	// UseLink is PeekLink that succeeds once.
	UseLink(ctx context.Context, token string) (Link, error)

	NewSession(ctx context.Context, seat Seat) (Session, error)
	Session(ctx context.Context, token string) (Session, error)
	EndSession(ctx context.Context, token string) error
	// Sessions are a seat's living sessions, newest first, without their tokens.
	Sessions(ctx context.Context, seat Seat) ([]Session, error)
	// EndSessionOf ends one of a seat's sessions; ending what is over is fine.
	EndSessionOf(ctx context.Context, seat Seat, id string) error
	// Erase forgets a person for ever. Doing it again finishes what was begun.
	Erase(ctx context.Context, seat Seat) error
	// Prove notes that whoever is signed in showed their password once more; a
	// wrong one is refused as unauthorised.
	Prove(ctx context.Context, token, password string) error

	NewKey(ctx context.Context, workspace, agent string) (id, key string, err error)
	Key(ctx context.Context, key string) (Keyed, error)

	// SetName names a person, an agent or a key; Names gives the names there
	// are.
	SetName(ctx context.Context, workspace, id, name string) error
	Names(ctx context.Context, workspace string, ids ...string) (map[string]string, error)
	// Unseal opens sealed words; false when they were erased.
	Unseal(ctx context.Context, workspace string, s *domain.Sealed) (string, bool, error)
}

// Seat is a person in a workspace.
type Seat struct{ Workspace, Person string }

// Purpose is what a one-time link is for.
type Purpose string

// The purposes of links.
const (
	ForSetup  Purpose = "setup"
	ForInvite Purpose = "invite"
)

// Link is what a one-time link stands for. A set-up link names no person yet.
type Link struct {
	Purpose Purpose
	Seat
}

// Session is one signed-in browser. Token is its secret; ID is what the log
// keeps of it.
type Session struct {
	ID, Token string
	Seat
	Expires time.Time
	Proved  time.Time // when they last showed that it is they
	Begun   time.Time
	Seen    time.Time // last, to the minute
}

// Keyed is the agent a key belongs to and the person behind it. Whether the
// key still lives is the road's question, asked of the log on each call.
type Keyed struct{ Workspace, Agent, Key, Person string }

// Queries is what pages and lists need of the read models. Nothing of another
// workspace is ever found: hidden and missing are both a refusal with the code
// not-found.
type Queries interface {
	// Wait returns when the read models have seen a position, or with
	// context.DeadlineExceeded.
	Wait(ctx context.Context, position domain.Position) error
	// Role is a person's role; empty without a seat.
	Role(ctx context.Context, workspace, person string) (policy.Role, error)

	Audit(ctx context.Context, workspace string, f AuditFilter) (AuditPage, error)
	AuditOne(ctx context.Context, workspace string, action domain.ID) (AuditRow, error)
	// Export records that a person takes the audit away in a form, and then calls
	// each with every row that fits, oldest first, up to that record. When it
	// cannot be recorded, no row is given.
	Export(ctx context.Context, by domain.Person, f AuditFilter, form string, each func(AuditRow) error) error
	// AsOf is a workspace as it was at a moment that was reached; of the zero
	// Moment, as it is.
	AsOf(ctx context.Context, workspace string, m commands.Moment) (Past, error)
	// History is a page of what happened to an item.
	History(ctx context.Context, workspace, item, cursor string, limit int) (HistoryPage, error)
	// Why asks an action's recorded questions again.
	Why(ctx context.Context, workspace string, action domain.ID) (commands.Why, error)
	// Usage is how people decided from a time on. Its names are filled in here.
	Usage(ctx context.Context, workspace string, since time.Time) (Usage, error)
	// Covered is what a yes in advance would have let through from a time on; that
	// the person asked is recorded.
	Covered(ctx context.Context, by domain.Person, a commands.Advance, since time.Time) (Covered, error)
	// Skills lists what is in the folder of skills, by name, those that cannot be
	// used as well.
	Skills(ctx context.Context, workspace string) ([]Skill, error)
	// Proposals lists those of the given statuses, or all: waiting ones
	// oldest first, then the rest newest first.
	Proposals(ctx context.Context, workspace string, statuses ...proposal.Status) ([]Proposal, error)
	// ProposalPage lists those of a status, or all when it is empty, newest
	// first. Like every page it loses and repeats nothing while things change,
	// and a cursor that is not one of its own is refused as invalid.
	ProposalPage(ctx context.Context, workspace string, status proposal.Status, cursor string, limit int) (ProposalPage, error)
	Proposal(ctx context.Context, workspace, id string) (Proposal, error)
	Agents(ctx context.Context, workspace string) ([]Agent, error)
	// AgentPage is Agents page by page, oldest first.
	AgentPage(ctx context.Context, workspace, cursor string, limit int) (AgentPage, error)
	People(ctx context.Context, workspace string) ([]Seated, error)
	Workspace(ctx context.Context, workspace string) (Workspace, error)
	// Rules are those of a site alone, or of the workspace where site is empty.
	Rules(ctx context.Context, workspace, site string) (policy.Rules, error)
	Sites(ctx context.Context, workspace string) ([]SiteRow, error)
	Pending(ctx context.Context, workspace, site string) (Pending, error)
	Versions(ctx context.Context, workspace, site, cursor string, limit int) (VersionPage, error)
}

// Content is what a site serves in a view.
type Content interface {
	// Site gives a site's settings and a mark that changes whenever anything
	// the view shows does. A site with nothing to show is not found.
	Site(ctx context.Context, workspace, site string, v View) (render.Site, string, error)
	// ResolvePath gives what is served at a clean path.
	ResolvePath(ctx context.Context, workspace, site string, v View, path string) (render.Item, error)
	// Listing gives the articles of a collection in a locale (empty: the
	// site's own), or of all collections, with bodies.
	Listing(ctx context.Context, workspace, site string, v View, collection, locale string) ([]render.Item, error)
}

// Health is what readiness is judged by.
type Health interface {
	// Writable is nil when the log takes appends.
	Writable(ctx context.Context) error
	// Behind is how many events the slowest read model has not seen.
	Behind(ctx context.Context) (int64, error)
	// Signed is nil when the log's last signed head is everywhere it was to be
	// sent, or none is sent. The server works without.
	Signed() error
}
