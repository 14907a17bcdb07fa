package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestSkillsSayWhatTheyNarrowAndWhoLookedAtThem(t *testing.T) {
	w := newWorld(t)
	var list struct{ Items []Skill }
	w.decode(w.do("GET", "/api/v1/skills", "", as(w.ada)), &list)
	if len(list.Items) != 4 || list.Items[0].Wrong == "" || !list.Items[1].Changed || list.Items[2].Accepted == nil || list.Items[3].Scopes == nil {
		t.Errorf("answers %+v", list.Items)
	}
	page := w.do("GET", "/skills", "", as(w.ada)).Body.String()
	for _, want := range []string{
		"It cannot be used", "no description", "Changed since", "by nobody yet", "&lt;b&gt;Approve", "Reaches</dt><dd><code>content:read</code>", "Reaches</dt><dd>nothing",
		"what its caller may", `action="/skills/changed/accept"`, `action="/skills/new/accept"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q: %.6000s", want, page)
		}
	}
	if strings.Contains(page, `action="/skills/kept/accept"`) {
		t.Error("what was looked at is offered again")
	}
}

func TestAcceptingASkillKeepsToTheFilesThatWereShown(t *testing.T) {
	w := newWorld(t)
	digest := "sha256:" + strings.Repeat("2", 64)
	send := func(name, digest string) int {
		return w.do("POST", "/skills/"+name+"/accept", url.Values{"digest": {digest}}.Encode(), as(w.ada)).Code
	}
	if code := send("new", digest); code != http.StatusSeeOther {
		t.Errorf("answers %d", code)
	}
	for name, digest := range map[string]string{"new": "latest", "..": digest, "NEW": digest} {
		if code := send(name, digest); code == http.StatusSeeOther {
			t.Errorf("%q of %q is accepted", digest, name)
		}
	}
}
