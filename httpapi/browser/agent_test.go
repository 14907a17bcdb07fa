package browser

import (
	"fmt"
	"strings"
	"testing"
)

// TestAnAgentsPageIsAccessibleAndFits with keys of every kind on it, a key that
// was made just now, and the entries to paste.
func TestAnAgentsPageIsAccessibleAndFits(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "edits")
	b.fill("Only in the collection", "news")
	b.press("Make a key")
	b.says("in news")
	b.fill("A key that ends in", "3")
	b.tick("Changes and publishes only")
	b.press("Make a key")
	b.says("publish:own")
	at := b.path()
	if i := strings.Index(at, "/keys"); i > 0 {
		at = at[:i]
	}
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1180, 390} {
			b.look(theme, width)
			what := fmt.Sprintf("an agent's page, %s, %d px", theme, width)
			b.fits(what + ", with a new key")
			b.accessible(what + ", with a new key")
			b.picture(fmt.Sprintf("agent.%s.%d.png", theme, width))
		}
	}
	b.open("/")
	b.says("A key of desk ends")
	b.accessible("the inbox with a key that ends")
	b.open(at)
	b.press("Replace")
	b.says("shown only now")
	b.open(at)
	b.fits("an agent's page with a replaced key")
}
