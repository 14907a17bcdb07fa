package domain_test

import (
	"errors"
	"fmt"
	"testing"

	"assent/domain"
)

func TestAnswersAreOrderedAndSpelled(t *testing.T) {
	answers := []domain.Answer{domain.Act, domain.Propose, domain.Reject}
	for i, word := range []string{"act", "propose", "refuse"} {
		text, err := answers[i].MarshalText()
		var back domain.Answer
		if err != nil || string(text) != word || back.UnmarshalText(text) != nil || back != answers[i] {
			t.Errorf("answer %d is spelled %s and read as %v", i, text, back)
		}
		if i > 0 && answers[i] <= answers[i-1] {
			t.Errorf("%s is not stricter than %s", answers[i], answers[i-1])
		}
	}
	if new(domain.Answer).UnmarshalText([]byte("maybe")) == nil {
		t.Error("an answer that is none was read")
	}
}

func TestRefusalsAreTheSameByTheirCode(t *testing.T) {
	no := domain.Refuse("taken", "%s is taken.", "/about")
	wrapped := fmt.Errorf("publish: %w", no)
	switch {
	case no.Error() != "/about is taken.":
		t.Errorf("says %q", no)
	case !errors.Is(wrapped, domain.Refuse("taken", "")):
		t.Error("not found by its code")
	case errors.Is(wrapped, domain.Refuse("stale", "")):
		t.Error("found by another code")
	}
}

func TestNobodyIsNotAPerson(t *testing.T) {
	if !(domain.Person{}).IsZero() {
		t.Error("the zero person is somebody")
	}
	p := domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}
	if p.String() != "agent:agent_1" || !p.IsAgent() || (domain.Principal{Kind: domain.KindPerson}).IsAgent() {
		t.Errorf("%s is taken for something else", p)
	}
}
