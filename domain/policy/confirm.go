package policy

// Confirmable are the causes of holds that an agent's own client may ever lift,
// where the owner of the agent named them. A client answers for itself, so this
// is no more than what the owner's choice of a freer mode could give. Whatever
// else holds a call wants a person who signed in, whoever names it.
var Confirmable = []string{"tool", "manual-mode"}

// confirmable says that nothing about a call asks for one person in particular,
// or for more than one: which person it was that answered in an agent's client
// is not known, and the one behind the agent is the likeliest.
func confirmable(q Question) bool {
	return q.Rules.Separation != SeparateOn && q.Rules.Deciders(string(q.Class)) == nil
}
