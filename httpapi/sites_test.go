package httpapi

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"assent/domain/site"
)

// previewOf is the path of a preview of Ada's site.
func (w *world) previewOf(args site.PreviewArgs) (path, token string) {
	w.t.Helper()
	url, token, expires, err := w.server.signer.Create("home", args, w.clock())
	if err != nil || !expires.Equal(w.now.Add(time.Hour)) {
		w.t.Fatalf("%v, expires %v", err, expires)
	}
	return strings.TrimPrefix(url, origin), token
}

func TestAPreviewShowsTheDraftToWhoHasItsAddressForAnHour(t *testing.T) {
	w := newWorld(t)
	path, token := w.previewOf(site.PreviewArgs{Site: "main"})
	res := w.do("GET", path+"about", "")
	text := res.Body.String()
	if res.Code != http.StatusOK || !strings.Contains(text, "Draft: About us") || !strings.Contains(text, `href="/preview/`+token+"/posts") && !strings.Contains(text, "/preview/"+token) {
		t.Fatalf("%d %s", res.Code, text)
	}
	h := res.Header()
	if csp := h.Get("Content-Security-Policy"); !strings.HasSuffix(csp, "; sandbox") || !strings.Contains(csp, "frame-ancestors 'self'") {
		t.Errorf("policy %q", csp)
	}
	if !strings.Contains(h.Get("X-Robots-Tag"), "noindex") || h.Get("Cache-Control") != "no-store" || h.Get("Cross-Origin-Opener-Policy") != "" || h.Get("X-Frame-Options") != "" {
		t.Errorf("headers %v", h)
	}
	if res := w.do("GET", "/preview/"+token, ""); res.Code != http.StatusPermanentRedirect || res.Header().Get("Location") != "/preview/"+token+"/" {
		t.Errorf("without a slash: %d", res.Code)
	}
	if res := w.do("POST", path+"about", "x=y"); res.Code != http.StatusMethodNotAllowed {
		t.Errorf("a preview takes a form: %d", res.Code)
	}
	w.pass(time.Hour)
	if res := w.do("GET", path+"about", ""); res.Code != http.StatusGone {
		t.Errorf("after its hour: %d", res.Code)
	}
}

func TestAPreviewsAddressCannotBeChangedIntoAnother(t *testing.T) {
	w := newWorld(t)
	_, token := w.previewOf(site.PreviewArgs{Site: "main"})
	payload, signature, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		t.Fatal(err)
	}
	swap := func(old, new string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(text), old, new, 1))) + "." + signature
	}
	stranger, err := NewSigner([]byte(strings.Repeat("t", 32)), origin)
	if err != nil {
		t.Fatal(err)
	}
	_, foreign, _, err := stranger.Create("home", site.PreviewArgs{Site: "main"}, w.clock())
	if err != nil {
		t.Fatal(err)
	}
	for name, forged := range map[string]string{
		"another workspace": swap("home", "away"), "another site": swap("main", "othr"), "a longer life": swap(`"u":1`, `"u":9`),
		"another server's": foreign, "no signature": payload + ".", "nothing": ".", "only a payload": payload, "too long": strings.Repeat("x", maxPreview) + token,
	} {
		if res := w.do("GET", "/preview/"+forged+"/about", ""); res.Code != http.StatusNotFound {
			t.Errorf("%s: %d", name, res.Code)
		}
	}
	// The last letter of a signature holds spare bits; all others count.
	for i := range len(token) - 1 {
		flipped := []byte(token)
		if flipped[i] = 'A'; token[i] == 'A' {
			flipped[i] = 'B'
		}
		if res := w.do("GET", "/preview/"+string(flipped)+"/about", ""); res.Code == http.StatusOK {
			t.Fatalf("letter %d of the address does not count", i)
		}
	}
}

func TestAPreviewOfMoreItemsThanAnAddressCanNameIsRefused(t *testing.T) {
	w := newWorld(t)
	items := make([]site.PreviewItem, 200)
	for i := range items {
		items[i].ID = "art_06h2rmw2015fxz0atvzk5t950m"
	}
	if _, _, _, err := w.server.signer.Create("home", site.PreviewArgs{Site: "main", Items: items}, w.clock()); !isRefusal(err) {
		t.Errorf("%v", err)
	}
	if _, err := NewSigner([]byte("short"), origin); err == nil {
		t.Error("a short secret is taken")
	}
}

func TestTheLiveSiteIsServedWithTagsThatChangeWhenItDoes(t *testing.T) {
	w := newWorld(t)
	get := func(path string, how ...sent) (int, string, http.Header) {
		res := w.do("GET", path, "", how...)
		return res.Code, res.Body.String(), res.Header()
	}
	for path, want := range map[string]string{
		"/sites/main/about": "About us", "/sites/main/posts/opening": "Opening", "/sites/main/posts": "Opening", "/sites/main/posts/": "Opening",
		"/sites/main/": "Opening", "/w/home/sites/main/about": "About us",
	} {
		if code, text, h := get(path); code != http.StatusOK || !strings.Contains(text, want) || strings.Contains(text, "Draft") || h.Get("X-Frame-Options") != "" {
			t.Errorf("%s: %d", path, code)
		}
	}
	for _, path := range []string{"/sites/main/nothing", "/sites/main/posts?page=9", "/sites/main/..%2fabout", "/sites/main/%00", "/w/away/sites/main/about"} {
		if code, text, h := get(path); code != http.StatusNotFound || !strings.Contains(text, "<html") || h.Get("ETag") != "" {
			t.Errorf("%s: %d, tag %q", path, code, h.Get("ETag"))
		}
	}
	for _, path := range []string{"/sites/none/about", "/w/nowhere/sites/main/about", "/sites/MAIN/about"} {
		if code, _, _ := get(path); code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
	}
	_, _, h := get("/sites/main/about")
	tag := h.Get("ETag")
	if code, text, _ := get("/sites/main/about", header("If-None-Match", `"x", W/`+tag)); code != http.StatusNotModified || text != "" {
		t.Errorf("the same page again: %d", code)
	}
	if code, _, _ := get("/sites/main/posts", header("If-None-Match", tag)); code != http.StatusOK {
		t.Errorf("another page under the same tag: %d", code)
	}
	w.shelf.mark = "p2"
	if code, _, _ := get("/sites/main/about", header("If-None-Match", tag)); code != http.StatusOK {
		t.Errorf("after a publish: %d", code)
	}
	if code, text, h := get("/sites/main/feed.xml"); code != http.StatusOK || h.Get("Content-Type") != "application/atom+xml" || !strings.Contains(text, "<feed") {
		t.Errorf("the feed: %d", code)
	}
	if res := w.do("HEAD", "/sites/main/about", ""); res.Code != http.StatusOK || res.Body.Len() != 0 {
		t.Errorf("HEAD: %d, %d bytes", res.Code, res.Body.Len())
	}
}

func TestStylesheetsAreServedOnlyUnderTheAddressThatHoldsTheirHash(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{w.server.pages.style, w.server.style(nil), w.server.style(map[string]any{"accent": "#aa3300"})} {
		res := w.do("GET", path, "")
		if res.Code != http.StatusOK || !strings.Contains(res.Header().Get("Cache-Control"), "immutable") || res.Header().Get("Content-Type") != "text/css; charset=utf-8" {
			t.Errorf("%s: %d %v", path, res.Code, res.Header())
		}
	}
	for _, path := range []string{"/assets/console.000000000000.css", strings.Replace(w.server.style(nil), "plain", "112233", 1), "/assets/console.css"} {
		if res := w.do("GET", path, ""); res.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, res.Code)
		}
	}
	if n := len(stylesheet); n > 12_000 {
		t.Errorf("the console's stylesheet has %d bytes; 12,000 are enough", n)
	}
}
