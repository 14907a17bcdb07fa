// Package domain is the core of Assent: agents act, people assent. Start here.
//
// # The story
//
// An agent asks for something: that an article be changed, that a site be
// published. What it asks for is an action, declared once in the package of
// the kind of thing it is about (package action says how). The action's
// decision is a pure function: it is given the state of one thing and the
// arguments, and answers with the events that would make it so, with none
// because it is so already, or with a Refusal: a meant no, a code and a
// sentence.
//
// Nothing has happened yet. Package policy is asked whether this call of this
// principal may happen now: act, propose or refuse. What it was asked and what
// it said are kept. A call that may happen is appended to the log. One that
// must wait is filed as a proposal, with a card of what it would change; a
// signed-in Person says yes or no, and their yes runs exactly what the card
// showed. Package commands is the one road on which all of this happens, for
// agents and people alike, and the one desk at which people decide.
//
// What is appended is the record: an Event about one Stream, in an Envelope
// that says who did it, for whom, through what, under which rules. Nothing
// else is ever stored as the truth. Read models, the audit and the sites
// themselves are folded from the log (package projections) and can be folded
// again at any time.
//
// Undo rewrites nothing. Every event knows its reverse, or that it has none,
// and TakeBack decides whether it can be said without losing later work.
//
// # The pieces
//
//	Event     a fact about a state S: Evolve gives the state after it, Reverse
//	          the fact that takes it back
//	Fold      the state that a history adds up to; the zero S is the beginning
//	Fresh     an event on its way into the log, Record as the log keeps it,
//	          Recorded read back
//	Stream    one thing's history, with its workspace in its name
//	Envelope  who, for whom, through what, why: ids only, free text Sealed
//	Diff      what differs between two states, in words that people know
//	TakeBack  what undoing takes, or the refusal it meets
//	Verdict   what policy answered, and what each of its rules found
//
// # The rest of the house
//
//	vocab       names of events in the log, and their spellings through time
//	action      the declaration of an action, its arguments, the registry
//	policy      modes, roles, rules: Ask
//	place       what content agrees on: addresses, languages, days
//	article     the model for every kind of thing: read it next
//	page, site, live, address     what else sites are made of
//	workspace, person, agent      who may do what
//	proposal, conduct             what waits, and what changed nothing
//	catalogue   every action and every word, joined once
//	domaintest  given/when/then, and the laws that every event keeps
//
// # House rules
//
// Events are facts in the past tense and say only what changed. Evolve never
// fails, never decides and never looks at a clock; saying an event twice is
// saying it once. Time, ids and randomness come in as arguments. The domain
// knows no database, no protocol and no framework: it imports the standard
// library, and package action the library that describes arguments.
//
// GLOSSARY.md says what each word means and where it is in the code. After this
// package and article, read commands/road.go.
package domain
