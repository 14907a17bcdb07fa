package action

import (
	"fmt"

	"assent/domain"
	"assent/domain/vocab"
)

// Kind is one kind of thing as the road sees it: how its history folds, how it
// is shown, and how it is taken back. The types of its states and events are
// known inside and nowhere else.
type Kind struct {
	Category string // of its streams: article
	Prefix   string // of its ids: art; empty when its ids are given by people
	Words    []vocab.Word

	// Fold is the state a history adds up to. It fails on an event of another
	// kind or one this program does not know: nobody decides over what they
	// cannot read.
	Fold func(history []any) (domain.State, error)
	// Evolve says one more event to a state that Fold made.
	Evolve func(state domain.State, event any) (domain.State, error)
	// TakeBack undoes the events at these places of a history, or refuses.
	TakeBack func(history []any, places ...int) ([]any, error)
	// WayBack says how they would be undone, field by field where a person
	// chooses.
	WayBack func(history []any, choice domain.Choice, places ...int) (domain.Way[any], error)
}

// KindOf makes a kind of a state type and its event type.
func KindOf[S domain.State, E domain.Event[S, E]](category, prefix string, words []vocab.Word) Kind {
	return Kind{
		Category: category,
		Prefix:   prefix,
		Words:    words,
		Fold: func(history []any) (domain.State, error) {
			events, err := typed[E](history)
			if err != nil {
				return nil, err
			}
			var zero S
			return domain.Fold(zero, events...), nil
		},
		Evolve: func(state domain.State, event any) (domain.State, error) {
			e, err := typed[E]([]any{event})
			if err != nil {
				return nil, err
			}
			return e[0].Evolve(state.(S)), nil
		},
		TakeBack: func(history []any, places ...int) ([]any, error) {
			events, err := typed[E](history)
			if err != nil {
				return nil, err
			}
			back, err := domain.TakeBack[S, E](events, places...)
			return untyped(back), err
		},
		WayBack: func(history []any, choice domain.Choice, places ...int) (domain.Way[any], error) {
			events, err := typed[E](history)
			if err != nil {
				return domain.Way[any]{}, err
			}
			w := domain.WayBack[S](events, choice, places...)
			way := domain.Way[any]{Columns: w.Columns, Open: w.Open, Final: w.Final, Back: make([]domain.Reverse[any], len(w.Back))}
			for i, r := range w.Back {
				way.Back[i] = domain.Reverse[any]{Place: r.Place, Event: r.Event}
			}
			return way, nil
		},
	}
}

// Placed is a state that is served at a path of its site: the road claims the
// path in the same append. Neither is given when nothing is to be claimed.
type Placed interface{ Place() (site, path string) }

// Sound is a state that not every history may lead to. Whatever way leads
// there, a decision or an undo, is refused when it is not sound.
type Sound interface{ Sound() error }

// Titled is a state with a name people call it by.
type Titled interface{ Called() string }

func typed[E any](history []any) ([]E, error) {
	events := make([]E, len(history))
	for i, h := range history {
		e, ok := h.(E)
		if !ok {
			if u, unknown := h.(vocab.Unknown); unknown {
				return nil, domain.Refuse("unsupported", "This was written by a newer version (%s, revision %d). Upgrade before changing it.", u.Word, u.Revision)
			}
			return nil, fmt.Errorf("%T is not an event of this kind", h)
		}
		events[i] = e
	}
	return events, nil
}

func untyped[E any](events []E) []any {
	list := make([]any, len(events))
	for i, e := range events {
		list[i] = e
	}
	return list
}
