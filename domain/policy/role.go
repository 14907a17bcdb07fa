package policy

import "slices"

// Role is what a person's seat allows.
type Role string

// The roles.
const (
	Owner    Role = "owner"
	Editor   Role = "editor"
	Auditor  Role = "auditor"
	Operator Role = "operator"
)

// May says that a role has a permission. "any" is what every seat may.
func (r Role) May(permission string) bool {
	allowed, seated := permissions[r]
	return seated && (permission == "any" || slices.Contains(allowed, permission) || slices.Contains(allowed, "*"))
}

// permissions are the whole truth about roles.
var permissions = map[Role][]string{
	Owner: {"*"},
	Editor: {
		"content.read", "content.edit", "content.remove", "site.edit", "publish", "rollback",
		"decide", "audit.read",
	},
	Auditor:  {"content.read", "audit.read"},
	Operator: {"content.read", "audit.read", "system.operate"}, // keeps the server going and changes nothing
}

// Scopes are what an agent or a key can be given. Those that end in Own reach
// only what the agent, or the person behind it, made.
var Scopes = []string{"site:read", "site:write", "content:read", "content:write", "content:write:own", "preview:create", "publish", "publish:own", "rollback"}

// DefaultScopes are given to an agent when nobody says otherwise: enough to
// work and to ask for a publish, which then waits for a person.
var DefaultScopes = []string{"site:read", "content:read", "content:write", "preview:create", "publish"}
