package httpapi

import (
	"flag"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"assent/commands"
	"assent/domain"
)

var update = flag.Bool("update", false, "write the golden pages anew")

var (
	serialIDs = regexp.MustCompile(`(act|prop|art|agent)_[0-9a-z]{26}`)
	tokens    = regexp.MustCompile(`/preview/[A-Za-z0-9_.-]+/`)
	styles    = regexp.MustCompile(`console\.[0-9a-f]{12}\.css`)
)

func golden(t *testing.T, name, page string) {
	t.Helper()
	page = styles.ReplaceAllString(tokens.ReplaceAllString(serialIDs.ReplaceAllString(page, "${1}_ID"), "/preview/TOKEN/"), "console.css")
	page = regexp.MustCompile(`\n\s*\n+`).ReplaceAllString(page, "\n")
	file := filepath.Join("testdata", name+".html")
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), page); diff != "" {
		t.Errorf("%s (go test -update writes it anew): %s", name, diff)
	}
}

// edit has the agent ask, in manual mode, to change the article.
func (w *world) edit() string {
	w.t.Helper()
	w.must("home", w.ada.Person, "agent.update", object{"agent": w.agent, "mode": "manual"})
	id := w.rows["home"][4].Target.ID
	res := w.do("POST", "/api/v1/actions/article.update", `{"article":`+quoted(id)+`,"title":"Quagga opens early","body":"We open on 28 March at nine.\n\nEntry is free.\n\nDogs are welcome.\n","reason":"The team moved it in GARDEN-41."}`, withKey(w.key))
	var out struct{ Proposal struct{ ID string } }
	w.decode(res, &out)
	if out.Proposal.ID == "" {
		w.t.Fatalf("%d %s", res.Code, res.Body)
	}
	return out.Proposal.ID
}

func TestTheInboxInEachOfItsStates(t *testing.T) {
	w := newWorld(t)
	get := func(path string) string {
		res := w.do("GET", path, "", as(w.ada))
		if res.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, res.Code, res.Body)
		}
		return res.Body.String()
	}
	edit := w.edit()
	golden(t, "inbox-waiting", get("/"))
	golden(t, "inbox-edit", get("/?p="+edit))
	golden(t, "approve", get("/proposals/"+edit+"/approve"))

	w.moved = &commands.Moved{ID: edit, Digest: "0123456789abcdef", Now: []domain.Change{
		{Kind: "article", ID: "art_1", Title: "Quagga opens", Change: domain.Edited, Fields: []domain.Line{{Field: "title", Before: "Quagga opens late", After: "Quagga opens early"}}},
	}}
	res := w.do("POST", "/proposals/"+edit+"/approve", "digest=of+what+was+shown", as(w.ada))
	if res.Code != http.StatusConflict || !strings.Contains(res.Body.String(), `value="0123456789abcdef"`) {
		t.Errorf("%d, or the new card cannot be approved", res.Code)
	}
	golden(t, "changed-since-shown", res.Body.String())
	w.moved = nil

	if res := w.do("POST", "/proposals/"+edit+"/decline", "code=needs-work&reason=Dogs+need+a+lead.", as(w.ada)); res.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	res = w.do("POST", "/proposals/"+edit+"/approve", "digest=x", as(w.ada))
	if text := res.Body.String(); res.Code != http.StatusConflict || !strings.Contains(text, "Declined</strong> by <bdi>Ada Quagga</bdi>") || strings.Contains(text, "Approve…") {
		t.Errorf("%d, or it is not said who was first", res.Code)
	}
	golden(t, "decided-elsewhere", res.Body.String())
	golden(t, "inbox-decided", get("/?show=decided"))

	w.proposals["home"] = nil
	golden(t, "inbox-empty", get("/"))
}

func TestAPersonApprovesInTwoStepsAndUndoesInTwo(t *testing.T) {
	w := newWorld(t)
	card := w.do("GET", "/", "", as(w.ada)).Body.String()
	if strings.Contains(card, `action="/proposals/`+w.held+`/approve"`) || strings.Contains(card, "autofocus") {
		t.Error("the inbox approves in one step")
	}
	page := w.do("GET", "/proposals/"+w.held+"/approve", "", as(w.ada)).Body.String()
	digest := regexp.MustCompile(`name="digest" value="([^"]+)"`).FindStringSubmatch(page)
	if digest == nil {
		t.Fatal("the page does not say what is approved")
	}
	if res := w.do("POST", "/proposals/"+w.held+"/approve", "x=y", as(w.ada)); res.Code != http.StatusBadRequest {
		t.Errorf("a yes to nothing in particular: %d", res.Code)
	}
	res := w.do("POST", "/proposals/"+w.held+"/approve", url.Values{"digest": digest[1:]}.Encode(), as(w.ada))
	to := res.Header().Get("Location")
	if res.Code != http.StatusSeeOther || !strings.Contains(to, "after=") {
		t.Fatalf("%d %s", res.Code, to)
	}
	if after := w.do("GET", to, "", as(w.ada)).Body.String(); !strings.Contains(after, "Approved. It was carried out") || !strings.Contains(after, "✓ carried out") {
		t.Error("the page does not say that it is done")
	}
	if ask := w.do("GET", "/audit/"+w.act+"/undo", "", as(w.ada)).Body.String(); !strings.Contains(ask, "Take it back") {
		t.Error("undo is not asked about")
	}
	if res := w.do("POST", "/audit/"+w.act+"/undo", "reason=too+early", as(w.ada)); res.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	if row, _ := w.AuditOne(t.Context(), "home", domain.ID(w.act)); row.Undone == "" {
		t.Error("nothing was taken back")
	}
	if res := w.do("POST", "/audit/"+w.act+"/undo", "", as(w.ada)); res.Code >= 500 {
		t.Errorf("undoing twice: %d", res.Code)
	}
}

func TestAPublishFromThePageNamesExactlyTheVersionsItShows(t *testing.T) {
	w := newWorld(t)
	page := w.do("GET", "/changes/main", "", as(w.ada)).Body.String()
	items := regexp.MustCompile(`name="item" value="([^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(items) != 2 {
		t.Fatalf("%d things are pending", len(items))
	}
	article := w.stream("home", "article", strings.Split(items[0][1], "@")[0])
	w.must("home", w.ada.Person, "article.update", object{"article": article.ID, "title": "Later"})
	res := w.do("POST", "/changes/main/publish", url.Values{"item": {items[0][1], items[1][1]}, "note": {"spring"}}.Encode(), as(w.ada))
	if res.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	for _, f := range w.state(w.stream("home", "live", "main")).Fields() {
		if f.Name == article.ID && !strings.HasPrefix(f.Value.(string), "version 1 ") {
			t.Errorf("%s went live", f.Value)
		}
	}
	if res := w.do("POST", "/changes/main/publish", "note=x", as(w.ada)); res.Code != http.StatusBadRequest {
		t.Errorf("nothing ticked: %d", res.Code)
	}
}

func TestAKeyIsShownOnceWithWhatToPaste(t *testing.T) {
	w := newWorld(t)
	res := w.do("POST", "/agents/"+w.agent+"/keys", "days=30", as(w.ada))
	text := res.Body.String()
	shown := regexp.MustCompile(`assent_key_\d+`).FindString(text)
	if res.Code != http.StatusOK || shown == "" || !strings.Contains(text, "Bearer ${ASSENT_KEY}") || res.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", res.Code, text)
	}
	if again := w.do("GET", "/agents/"+w.agent, "", as(w.ada)).Body.String(); strings.Contains(again, shown) {
		t.Error("the key is shown a second time")
	}
	if res := w.do("POST", "/agents/"+w.agent+"/keys", "days=soon", as(w.ada)); res.Code != http.StatusBadRequest {
		t.Errorf("days in words: %d", res.Code)
	}
	if res := w.do("POST", "/agents", "name=bare&mode=edits", as(w.ada)); res.Code != http.StatusSeeOther {
		t.Fatalf("%d", res.Code)
	}
	agents, _ := w.Agents(t.Context(), "home")
	for _, a := range agents {
		if a.ID != w.agent && len(a.Scopes) != 0 {
			t.Errorf("nothing ticked gives %v", a.Scopes)
		}
	}
}

// hostile is text that would like to be more than text.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `javascript:alert(1)`, `</title><script>alert(1)</script>`,
	`<svg/onload=alert(1)>`, `{{.}}`, `</textarea><script>`, `<a href="javascript:alert(1)">click</a>`, `<form action=//evil.example><button>Approve…</button></form>`,
	"\u202e<script>\u202c", `<iframe srcdoc="<script>alert(1)</script>">`, `--><script>`, `&lt;script&gt;`, `<style>*{display:none}</style>`, `<base href=//evil.example>`,
}

func TestHostileTextIsShownAsTextOnEveryPage(t *testing.T) {
	for _, text := range hostile {
		w := newWorld(t)
		w.edit()
		for i := range w.proposals["home"] {
			p := &w.proposals["home"][i]
			p.Headline, p.Mode, p.Skill, p.Cause, p.Digest = text, text, text, text, text
			p.Sealed = &domain.Sealed{Box: []byte(text)}
			p.Verdict.Reason = text
			p.Changes = []domain.Change{{Kind: "x" + text, ID: text, Title: text, Change: "edited", Fields: []domain.Line{
				{Of: text, Field: text, Before: text, After: text + "!"}, {Field: "body", Before: text + "\n1", After: text + "\n2"}, {Field: "meta", After: map[string]any{text: text}},
			}}}
		}
		for i := range w.rows["home"] {
			row := &w.rows["home"][i]
			row.Client.Name, row.Skill = text, text
			row.Changes = []domain.Line{{Field: text, Before: text, After: text}}
		}
		for seat := range w.accounts.names {
			w.accounts.names[seat] = text
		}
		for _, path := range []string{
			"/", "/proposals/" + w.held, "/proposals/" + w.held + "/approve", "/audit", "/audit/" + w.act, "/audit/" + w.act + "/why", "/audit/" + w.act + "/undo", "/contain?hours=24&agent=" + w.agent,
			"/agents", "/agents/" + w.agent, "/people", "/changes/main", "/signout", "/audit?action=" + url.QueryEscape(text), "/signin?next=" + url.QueryEscape(text),
		} {
			res := w.do("GET", path, "", as(w.ada))
			if res.Code != http.StatusOK {
				t.Fatalf("%s: %d", path, res.Code)
			}
			inert(t, path, res.Body.String())
		}
	}
}

// inert fails on markup that none of the templates has.
func inert(t *testing.T, where, page string) {
	t.Helper()
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := z.Token()
			switch tag.Data {
			case "script", "img", "svg", "style", "base", "object", "embed":
				t.Errorf("%s: <%s>", where, tag.Data)
			}
			for _, a := range tag.Attr {
				value, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(a.Val)), "?") // what was asked may be asked again
				if strings.HasPrefix(a.Key, "on") || a.Key == "srcdoc" || a.Key == "style" || (a.Key == "href" || a.Key == "src" || a.Key == "action") && (strings.HasPrefix(value, "javascript:") || strings.Contains(value, "evil")) {
					t.Errorf("%s: <%s %s=%q>", where, tag.Data, a.Key, a.Val)
				}
			}
		}
	}
}

func TestEveryFieldOfEveryFormHasALabel(t *testing.T) {
	w := newWorld(t)
	paths := []string{"/", "/signin", "/agents", "/agents/" + w.agent, "/people", "/audit", "/changes/main", "/audit/" + w.act + "/undo", "/contain?hours=24&agent=" + w.agent, "/audit/" + w.act + "/why", "/setup?t=" + w.link(ForSetup, "fresh", "")}
	for _, path := range paths {
		page := w.do("GET", path, "", as(w.ada)).Body.String()
		doc, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		headings := 0
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			switch n.Data {
			case "h1":
				headings++
			case "input", "select", "textarea":
				if !labelled(n) {
					t.Errorf("%s: a field without a label: %v", path, n.Attr)
				}
			}
		}
		if headings != 1 {
			t.Errorf("%s: %d main headings", path, headings)
		}
	}
}

func labelled(n *html.Node) bool {
	for _, a := range n.Attr {
		if a.Key == "aria-label" || a.Key == "type" && a.Val == "hidden" {
			return true
		}
	}
	for up := n.Parent; up != nil; up = up.Parent {
		if up.Data == "label" {
			return true
		}
	}
	return false
}

// A reload of the page that showed a new key makes no second one.
func TestAKeyFormIsSentOnce(t *testing.T) {
	w := newWorld(t)
	before := len(w.accounts.keys)
	form := "days=&once=" + mark(w.now)
	if res := w.do("POST", "/agents/"+w.agent+"/keys", form, as(w.ada)); res.Code != http.StatusOK || !strings.Contains(res.Body.String(), "assent_") {
		t.Fatalf("the key is not shown: %d", res.Code)
	}
	if res := w.do("POST", "/agents/"+w.agent+"/keys", form, as(w.ada)); res.Code != http.StatusSeeOther {
		t.Errorf("sent again: %d", res.Code)
	}
	if made := len(w.accounts.keys) - before; made != 1 {
		t.Errorf("%d keys were made", made)
	}
}
