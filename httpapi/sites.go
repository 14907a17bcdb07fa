package httpapi

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"assent/domain"
	"assent/domain/place"
	"assent/httpapi/render"
)

// showing is one look at a site: which one, in which view, from which address.
type showing struct {
	workspace, site string
	view            View
	base            string // that the site is served under
	preview         *render.Preview
}

// getSite serves the live site of the first workspace, or of the one in the
// address.
func (s *Server) getSite(w http.ResponseWriter, r *http.Request, _ caller) error {
	handle := chi.URLParam(r, "site")
	at := showing{workspace: s.home, site: handle, view: public, base: "/sites/" + handle}
	if ws := chi.URLParam(r, "workspace"); ws != "" {
		at.workspace, at.base = ws, "/w/"+ws+at.base
	}
	return s.show(w, r, at)
}

// getPreview serves what a signed address names, as a rehearsal.
func (s *Server) getPreview(w http.ResponseWriter, r *http.Request, _ caller) error {
	token := chi.URLParam(r, "token")
	what, until, err := s.signer.open(token, s.now())
	if err != nil {
		return err
	}
	return s.show(w, r, showing{
		workspace: what.Workspace, site: what.Site, view: what.View, base: "/preview/" + token,
		preview: &render.Preview{Label: label(what.View), Expires: until},
	})
}

func label(v View) string {
	switch {
	case v.Proposal != "":
		return "with one proposal carried out"
	case len(v.Items) == 1:
		return "with 1 change"
	case len(v.Items) > 1:
		return "with " + strconv.Itoa(len(v.Items)) + " changes"
	case v.Version == "" || v.Version == "latest":
		return "the draft as it stands"
	}
	return "version " + v.Version
}

// toRoot sends a site's address without a slash to its front page, so that the
// address has one spelling.
func (s *Server) toRoot(w http.ResponseWriter, r *http.Request, _ caller) error {
	http.Redirect(w, r, r.URL.EscapedPath()+"/", http.StatusPermanentRedirect)
	return nil
}

// show serves one address of a site.
func (s *Server) show(w http.ResponseWriter, r *http.Request, at showing) error {
	if !place.IsHandle(at.site) {
		return noSite
	}
	settings, mark, err := s.content.Site(r.Context(), at.workspace, at.site, at.view)
	if isRefusal(err) {
		return noSite
	}
	if err != nil {
		return err
	}
	for name, values := range render.Headers(at.preview != nil) {
		w.Header()[name] = values
	}
	if at.preview != nil {
		// The sandbox takes the page's origin away. Browsers refuse to open a
		// page that has that and an opener policy of its own.
		w.Header().Set("Content-Security-Policy", w.Header().Get("Content-Security-Policy")+"; sandbox")
		w.Header().Del("Cross-Origin-Opener-Policy")
	} else if fresh(w, r, etag(mark, s.style(settings.Theme), r.URL.RequestURI())) {
		return nil
	}
	v := render.View{
		Site: settings, Base: at.base, Origin: s.public.Scheme + "://" + s.public.Host,
		Stylesheet: s.style(settings.Theme), Preview: at.preview,
	}
	if at.preview == nil {
		v.Feed = at.base + "/feed.xml"
	}
	return s.page(w, r, at, v)
}

var noSite = domain.Refuse("not-found", "There is no such site here.")

// page writes what is at the address: the feed, an item, the front page, a
// collection's index, or the page that says there is nothing.
func (s *Server) page(w http.ResponseWriter, r *http.Request, at showing, v render.View) error {
	path, status := strings.TrimPrefix(r.URL.Path, at.base), http.StatusOK
	var page bytes.Buffer
	err := s.write(&page, w.Header(), r, at, v, path)
	if isRefusal(err) || errors.Is(err, render.ErrNoSuchPage) {
		page.Reset()
		status, err = http.StatusNotFound, s.render.NotFound(&page, v, path)
		w.Header().Del("ETag")
	}
	if err != nil {
		return err
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = page.WriteTo(w)
	}
	return nil
}

func (s *Server) write(page *bytes.Buffer, h http.Header, r *http.Request, at showing, v render.View, path string) error {
	ctx := r.Context()
	if path == "/feed.xml" && at.preview == nil {
		items, err := s.content.Listing(ctx, at.workspace, at.site, at.view, "", "")
		if err != nil {
			return err
		}
		h.Set("Content-Type", "application/atom+xml")
		return s.render.Feed(page, v, items)
	}
	clean, ok := place.Clean((&url.URL{Path: path}).EscapedPath())
	if !ok {
		return noSite
	}
	item, err := s.content.ResolvePath(ctx, at.workspace, at.site, at.view, clean)
	if err == nil {
		return s.render.Page(page, v, item)
	}
	if !isRefusal(err) {
		return err
	}
	collection, locale, ok := collectionAt(clean)
	if !ok {
		return noSite
	}
	items, err := s.content.Listing(ctx, at.workspace, at.site, at.view, collection, locale)
	switch {
	case err != nil:
		return err
	case collection == "" && locale == "":
		return s.render.Home(page, v, items)
	case len(items) == 0:
		return noSite
	}
	number, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("page"), "1"))
	if err != nil {
		return noSite
	}
	return s.render.Index(page, v, clean, cmp.Or(collection, locale), items, number)
}

// collectionAt reads a path as that of an index: /, /posts, /fr/posts.
func collectionAt(path string) (collection, locale string, ok bool) {
	parts := strings.Split(path[1:], "/")
	switch {
	case path == "/":
		return "", "", true
	case len(parts) == 1:
		return parts[0], "", true
	case len(parts) == 2 && place.IsLocale(parts[0]):
		return parts[1], parts[0], true
	}
	return "", "", false
}

// etag names a page as long as nothing it is made of changes.
func etag(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return `"` + hex.EncodeToString(h.Sum(nil)[:12]) + `"`
}

// fresh answers 304 when the reader already has the page of that tag.
func fresh(w http.ResponseWriter, r *http.Request, tag string) bool {
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-cache") // ask each time: a publish shows at once
	for known := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == tag || known == "*" {
			w.Header().Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}

// style is the address of a theme's stylesheet. It holds a hash of it, so it
// can be kept for ever.
func (s *Server) style(theme map[string]any) string {
	accent := render.Accent(theme)
	return "/assets/site." + cmp.Or(strings.TrimPrefix(accent, "#"), "plain") + "." + hashed(render.Stylesheet(accent)) + ".css"
}

func hashed(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// getAsset serves the stylesheets under addresses that hold their hash.
func (s *Server) getAsset(w http.ResponseWriter, r *http.Request, _ caller) error {
	name := chi.URLParam(r, "name")
	var text []byte
	if "/assets/"+name == s.pages.style {
		text = stylesheet
	} else if parts := strings.Split(name, "."); len(parts) == 4 && parts[0] == "site" {
		theme := map[string]any{"accent": "#" + parts[1]}
		if "/assets/"+name == s.style(theme) {
			text = render.Stylesheet(render.Accent(theme))
		}
	}
	if text == nil {
		return domain.Refuse("not-found", "There is nothing here.")
	}
	h := w.Header()
	h.Set("Content-Type", "text/css; charset=utf-8")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
	return nil
}
