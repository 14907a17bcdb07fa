// Package catalogue joins every kind's lists, once: what can be asked for, and
// what the log can say.
package catalogue

import (
	"assent/domain/action"
	"assent/domain/address"
	"assent/domain/agent"
	"assent/domain/article"
	"assent/domain/batch"
	"assent/domain/command"
	"assent/domain/conduct"
	"assent/domain/containment"
	"assent/domain/delivery"
	"assent/domain/live"
	"assent/domain/pace"
	"assent/domain/page"
	"assent/domain/person"
	"assent/domain/proposal"
	"assent/domain/readmodel"
	"assent/domain/rules"
	"assent/domain/site"
	"assent/domain/skill"
	"assent/domain/vocab"
	"assent/domain/webhook"
	"assent/domain/workspace"
)

// Actions is the registry of all actions. It fails when one of them may not be
// registered, and so does start-up.
func Actions() (*action.Registry, error) {
	return action.Register(
		site.Actions, page.Actions, article.Actions, live.Actions,
		proposal.Actions, agent.Actions, person.Actions, workspace.Actions, rules.Actions,
		webhook.Actions, delivery.Actions, skill.Actions, batch.Actions, readmodel.Actions,
	)
}

// Kinds is every kind of thing that has a stream, by category.
func Kinds() map[string]action.Kind {
	kinds := map[string]action.Kind{}
	for _, k := range all() {
		kinds[k.Category] = k
	}
	return kinds
}

// Words is everything the log can say.
func Words() (*vocab.Vocabulary, error) {
	var lists [][]vocab.Word
	for _, k := range all() {
		lists = append(lists, k.Words)
	}
	return vocab.Join(lists...)
}

func all() []action.Kind {
	return []action.Kind{
		article.Kind, page.Kind, site.Kind, live.Kind, address.Kind,
		workspace.Kind, person.Kind, agent.Kind, proposal.Kind, conduct.Kind, command.Kind, rules.Kind, pace.Kind,
		webhook.Kind, delivery.Kind, skill.Kind, containment.Kind, readmodel.Kind,
	}
}
