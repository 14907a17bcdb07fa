package browser

import (
	"fmt"
	"strings"
	"testing"
)

// pagesOf are the console's pages that a person walks through.
func pagesOf(proposal string) []string {
	list := []string{"/", "/?show=decided", "/changes", "/changes/main", "/audit", "/usage", "/agents", "/lent", "/rules", "/rules/main", "/skills", "/webhooks", "/system", "/people", "/you"}
	if proposal != "" {
		list = append(list, "/proposals/"+proposal, "/proposals/"+proposal+"/approve")
	}
	return list
}

// pictured are the pages of which pictures are kept for people to look at.
var pictured = map[string]string{"/": "inbox", "/proposals/ID/approve": "approve", "/changes/main": "changes", "/audit": "audit", "/agents": "agents", "/rules": "rules", "/system": "system", "/usage": "usage"}

// hostile is what an agent might write to deceive or to break the page.
var hostile = []string{
	"<script>document.title='owned'</script>",
	"<img src=x onerror=document.title='owned'>",
	"Approve\u202egnihton\u202c this",
	"zero\u200bwidth\u2060joined\ufeff",
	"a\x00b\x1b[31mred",
	"javascript:alert(1) https://evil.example/pay",
	strings.Repeat("Donaudampfschifffahrtsgesellschaft", 12),
	"</textarea></form><form action=//evil.example>",
	"{{.Digest}} ${7*7} %s",
	"👩‍👩‍👧‍👦 مرحبا שלום",
}

// full is a house with something on each page.
func full(t *testing.T) (h *house, b *tab, waiting string) {
	h = serve(t)
	b = h.owner()
	h.agent(b, "desk", "edits")
	h.agent(b, "nightly tidy", "manual")
	id := h.article("desk", "spring", "Spring opening", opening)
	h.article("desk", "dogs", "Dogs in the garden", "On a lead.")
	first := h.publish("desk", "Both were asked for in the meeting.")
	b.open("/proposals/" + first + "/approve")
	b.press("Yes, approve")
	b.says("carried out")
	h.must("done", "desk", "article.update", map[string]any{"article": id, "title": "Opening in spring",
		"body": strings.ReplaceAll(strings.ReplaceAll(opening, "1 April", "28 March"), "Dogs stay at home.", "Dogs are welcome on a lead.")})
	h.must("waiting", "nightly tidy", "article.remove", map[string]any{"article": id, "reason": "Old."})
	waiting = h.publish("desk", "The team moved the opening to 28 March.")
	h.must("refused", "desk", "article.update", map[string]any{"article": "art_nothing", "title": "x"})
	return h, b, waiting
}

func TestEveryPageIsAccessibleAndFits(t *testing.T) {
	t.Parallel()
	_, b, waiting := full(t)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1180, 390} {
			b.look(theme, width)
			for _, page := range pagesOf(waiting) {
				b.open(page)
				what := fmt.Sprintf("%s, %s, %d px", page, theme, width)
				b.fits(what)
				if width > 1000 || theme == "light" {
					b.accessible(what)
				}
				if name, main := pictured[strings.ReplaceAll(page, waiting, "ID")]; main && (width > 1000 || theme == "light") {
					b.picture(fmt.Sprintf("%s.%s.%d.png", name, theme, width))
				}
			}
		}
	}
}

func TestNoWordsOfAnAgentRunHideOrBreakAPage(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "edits")
	h.agent(b, "<b>bold</b>\u202eagent", "manual")
	var p string
	for i, words := range hostile {
		a := h.act("desk", "article.create", map[string]any{"site": "main", "slug": fmt.Sprintf("h%d", i), "title": words, "summary": words, "body": words + "\n\n" + words, "reason": words})
		if a.Outcome != "done" && a.Refusal.Code != "invalid" && !strings.Contains(a.raw, `"invalid"`) {
			t.Errorf("%q came to %s", words, a.raw)
		}
		p = h.must("waiting", "desk", "site.publish", map[string]any{"site": "main", "reason": "Because " + strings.ReplaceAll(words, "\x00", "")}).Proposal.ID
	}
	b.look("light", 390)
	for _, page := range pagesOf(p) {
		b.open(page)
		b.fits(page)
		if title := js[string](b, `() => document.title`); strings.Contains(title, "owned") {
			t.Errorf("%s ran what an agent wrote", page)
		}
		if bad := js[[]string](b, `() => [...document.querySelectorAll("main a, main form, main img, main script")]
			.filter(e => [e.href, e.action, e.src].some(u => typeof u === "string" && u && !u.startsWith(location.origin) && !u.startsWith("data:")))
			.map(e => e.outerHTML.slice(0, 200))`); len(bad) > 0 {
			t.Errorf("%s leads elsewhere: %s", page, bad)
		}
		if raw := js[string](b, `() => (document.querySelector("main").innerText.match(/[\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff\u0000-\u0008\u001b]/) || [""])[0]`); raw != "" {
			t.Errorf("%s hides %q among its words", page, raw)
		}
	}
}
