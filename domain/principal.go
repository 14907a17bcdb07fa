package domain

// Principal is who calls: a person, an agent for one, or the system itself.
type Principal struct {
	Kind PrincipalKind `json:"kind"`
	ID   string        `json:"id"`
}

// PrincipalKind says which of the three a principal is.
type PrincipalKind string

// The kinds of principal. A local caller (command line, stdio) is a person or
// an agent whose Via names the operating system's user.
const (
	KindPerson PrincipalKind = "person"
	KindAgent  PrincipalKind = "agent"
	KindSystem PrincipalKind = "system"
)

// String is the principal in one word, as conduct streams and ids use it.
func (p Principal) String() string { return string(p.Kind) + ":" + p.ID }

// IsAgent says that a program is calling.
func (p Principal) IsAgent() bool { return p.Kind == KindAgent }

// Via says through what a call came: at most one of Key, Session and Local.
type Via struct {
	Key     string `json:"key,omitempty"`
	Session string `json:"session,omitempty"`
	Grant   string `json:"grant,omitempty"`
	Local   string `json:"local,omitempty"` // the operating system's user
}

// Client is what a program calls itself. It is never believed, only kept.
type Client struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// Person is a signed-in human: the only one who decides. The zero Person is
// nobody, and the fields are closed, so that nothing but SignedIn makes one.
type Person struct{ workspace, id, session string }

// SignedIn makes a Person out of a live session. A test keeps this name out of
// every package but the one door that signs people in: no tool, no key and no
// command line can decide.
func SignedIn(workspace, id, session string) Person { return Person{workspace, id, session} }

// Workspace is where the person has a seat.
func (p Person) Workspace() string { return p.workspace }

// ID is the person's id.
func (p Person) ID() string { return p.id }

// Session is the session they decide in.
func (p Person) Session() string { return p.session }

// IsZero says that nobody signed in.
func (p Person) IsZero() bool { return p == Person{} }
