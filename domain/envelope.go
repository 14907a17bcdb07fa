package domain

import "encoding/json"

// Envelope is the record that rides in every event: who, for whom, through
// what, in which mode, under which skill, because of what. It is written in
// the same append as the change, so neither can exist without the other.
//
// It holds ids only. Names, emails and credentials live beside the log, and
// personal free text is Sealed.
type Envelope struct {
	Action    ID        `json:"action"` // one call of one principal, whatever it appends
	Name      string    `json:"name"`   // the action's name: article.update
	Principal Principal `json:"principal"`
	Person    string    `json:"person,omitempty"` // behind an agent
	Via       Via       `json:"via,omitzero"`
	Client    Client    `json:"client,omitzero"`
	Mode      string    `json:"mode,omitempty"`

	Skill       string `json:"skill,omitempty"`
	SkillDigest string `json:"skillDigest,omitempty"`

	Proposal    string `json:"proposal,omitempty"`
	ApprovedBy  string `json:"approvedBy,omitempty"`  // a signed-in person said yes
	ConfirmedBy string `json:"confirmedBy,omitempty"` // the agent's own client said yes: weaker
	Standing    string `json:"standing,omitempty"`    // a person's yes in advance that was used

	Undoes      ID      `json:"undoes,omitempty"` // the action this one takes back
	Chose       *Choice `json:"chose,omitempty"`  // field by field, when it was taken back
	Correlation ID      `json:"correlation,omitempty"`
	Causation   ID      `json:"causation,omitempty"`

	Outside bool    `json:"outside,omitempty"` // influenced by content from outside
	Reason  *Sealed `json:"reason,omitempty"`  // the caller's own words

	// Only the first event of an action carries what was asked of the policy
	// and what it said; the others are found by the action's id.
	Question json.RawMessage `json:"question,omitempty"`
	Verdict  *Verdict        `json:"verdict,omitempty"`
	Args     string          `json:"args,omitempty"` // digest of the arguments, for command-reused
}

// Sealed is personal free text under a key of the person it came from. The key
// lives outside the log: dropping it erases the text from every copy.
type Sealed struct {
	Person string `json:"person"`
	Box    []byte `json:"box"` // nonce and ciphertext; opened only with Person's key
}
