package browser

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "take the pictures in testdata/pictures again")

// patience is how long a page may take to show what a test waits for. It ends
// a test that would hang, and is no measurement.
const patience = 30 * time.Second

// tab is one tab of a browser of its own, with nobody signed in.
type tab struct {
	*testing.T
	ctx  context.Context
	base string
}

// browse opens a browser on a server.
func browse(t *testing.T, base string) *tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("without chromium nothing here can run: apt-get install chromium")
	}
	ctx, stop := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1180, 860),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("force-prefers-reduced-motion", true), chromedp.Flag("lang", "en-GB"))...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	b := &tab{t, ctx, base}
	b.do(chromedp.Navigate("about:blank")) // the first call may have no time limit of its own
	b.watch()
	return b
}

// watch fails the test for whatever the browser complains about: a blocked
// request, a broken rule of the page's own policy, an error of a script.
func (b *tab) watch() {
	told := chromedp.Console(b.ctx)
	go func() {
		for m, err := range told {
			if err != nil || b.ctx.Err() != nil {
				return
			}
			if m.IsException() || m.Type == "error" && !strings.Contains(m.Text, "status of 4") {
				b.Errorf("the browser says: %s", m)
			}
		}
	}()
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx := b.ctx
	if chromedp.FromContext(ctx) != nil && chromedp.FromContext(ctx).Target != nil {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, patience)
		defer done()
	}
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.Fatalf("%v\non %s", err, b.seen())
	}
}

// js asks the page something.
func js[T any](b *tab, script string, args ...any) T {
	b.Helper()
	list := make([]string, len(args))
	for i, a := range args {
		text, err := json.Marshal(a)
		if err != nil {
			b.Fatal(err)
		}
		list[i] = string(text)
	}
	ctx, done := context.WithTimeout(b.ctx, patience)
	defer done()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](fmt.Sprintf("(%s)(%s)", script, strings.Join(list, ",")), chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%v\n%s\non %s", err, script, b.seen())
	}
	return v
}

// seen is what the page says now, for a failed test to tell.
func (b *tab) seen() string {
	ctx, done := context.WithTimeout(b.ctx, 5*time.Second)
	defer done()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// open goes to a page.
func (b *tab) open(path string) {
	b.Helper()
	b.do(chromedp.Navigate(b.base+path), chromedp.WaitReady(chromedp.CSS("main")))
}

// path is where the tab is.
func (b *tab) path() string {
	b.Helper()
	return js[string](b, `() => location.pathname + location.search`)
}

// find marks the control that a person would call so: a link, a button, or
// something to unfold, by the start of its words.
const find = `(words) => {
	document.querySelectorAll("[data-found]").forEach(e => e.removeAttribute("data-found"));
	const seen = e => e.checkVisibility({visibilityProperty: true});
	const all = [...document.querySelectorAll("a, button, summary, [role=button]")].filter(seen);
	const say = e => (e.getAttribute("aria-label") || e.innerText).replace(/\s+/g, " ").trim();
	const it = all.find(e => say(e) === words) || all.find(e => say(e).startsWith(words));
	if (it) it.setAttribute("data-found", "");
	return it !== undefined;
}`

// leaves says that a click on what was found leads to another page.
const leaves = `() => {
	const it = document.querySelector("[data-found]");
	window.left = it.matches("a[href]:not([target])") && it.href.split("#")[0] !== location.href.split("#")[0] ||
		it.matches("button:not([type=button])") && it.form !== null && it.form.checkValidity();
	return window.left;
}`

// press clicks what a person would call so, once it is there, and waits for the
// page that it leads to.
func (b *tab) press(words string) {
	b.Helper()
	b.until(fmt.Sprintf("there is something called %q", words), func() bool { return js[bool](b, find, words) })
	away := js[bool](b, leaves)
	b.do(chromedp.Click(chromedp.CSS("[data-found]")))
	if away {
		b.until("another page is there", func() bool {
			return js[bool](b, `() => window.left !== true && document.readyState === "complete"`)
		})
	}
}

// until asks again until something holds.
func (b *tab) until(what string, holds func() bool) {
	b.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); !holds(); <-tick.C {
		if time.Since(begun) > patience {
			b.Fatalf("not true in time: %s\non %s", what, b.seen())
		}
	}
}

// says waits until the page says something.
func (b *tab) says(words string) {
	b.Helper()
	b.until(fmt.Sprintf("the page says %q", words), func() bool {
		return js[bool](b, `(words) => document.readyState !== "loading" && document.body.innerText.replace(/\s+/g, " ").includes(words)`, words)
	})
}

// silent fails the test where the page says something.
func (b *tab) silent(words string) {
	b.Helper()
	if strings.Contains(b.seen(), words) {
		b.Errorf("the page says %q\n%s", words, b.seen())
	}
}

// fill types into the field with this label.
func (b *tab) fill(label, text string) {
	b.Helper()
	b.until(fmt.Sprintf("there is a field %q", label), func() bool {
		return js[bool](b, `(label) => {
			document.querySelectorAll("[data-found]").forEach(e => e.removeAttribute("data-found"));
			for (const l of document.querySelectorAll("label")) {
				if (!l.checkVisibility() || !l.innerText.trim().startsWith(label)) continue;
				const it = l.control;
				if (!it) continue;
				it.setAttribute("data-found", "");
				if (it.type === "radio" || it.type === "checkbox") return true;
				it.value = "";
				return true;
			}
			return false;
		}`, label)
	})
	if kind := js[string](b, `() => document.querySelector("[data-found]").type`); kind == "radio" || kind == "checkbox" {
		b.do(chromedp.Click(chromedp.CSS("[data-found]")))
		return
	} else if kind == "select-one" || kind == "date" || kind == "datetime-local" {
		js[bool](b, `(text) => {
			const it = document.querySelector("[data-found]");
			const option = [...it.options || []].find(o => o.text.trim() === text || o.value === text);
			it.value = option ? option.value : text;
			it.dispatchEvent(new Event("change", {bubbles: true}));
			return true;
		}`, text)
		return
	}
	b.do(chromedp.SendKeys(chromedp.CSS("[data-found]"), text))
}

// tick sets a choice by the start of its label.
func (b *tab) tick(label string) { b.Helper(); b.fill(label, "") }

// key presses one as on a keyboard.
func (b *tab) key(keys string) {
	b.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// look sets the theme, and the width of the window in CSS pixels.
func (b *tab) look(theme string, width int64) {
	b.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}); err != nil {
		b.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(width, 860))
}

// scriptless is a tab in which pages cannot run anything.
func (b *tab) scriptless() {
	b.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		b.Fatal(err)
	}
}

// picture keeps how the page looks, for people to look at: it is compared with
// nothing, since fonts differ from machine to machine.
func (b *tab) picture(name string) {
	b.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.Fatal(err)
	}
	if len(png) < 1000 {
		b.Errorf("%s: a picture of %d bytes shows nothing", name, len(png))
	}
	if !*update {
		return
	}
	if err := os.MkdirAll(filepath.Join("testdata", "pictures"), 0o750); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", "pictures", name), png, 0o600); err != nil {
		b.Fatal(err)
	}
}

// fits fails where something is wider than the window.
func (b *tab) fits(what string) {
	b.Helper()
	if wide := js[[]string](b, `() => {
		const w = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= w) return [];
		return [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > w + 1 && e.checkVisibility()).slice(0, 5)
			.map(e => e.tagName + "." + e.className + " " + Math.round(e.getBoundingClientRect().right) + " " + e.innerText.slice(0, 60));
	}`); len(wide) > 0 {
		b.Errorf("%s is wider than its window: %s", what, strings.Join(wide, "\n"))
	}
}

// accessible fails for what axe finds against WCAG 2.2 AA.
func (b *tab) accessible(what string) {
	b.Helper()
	axe, err := os.ReadFile(filepath.Join("testdata", "axe", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		b.Skipf("axe is not installed (make needs): %v", err)
	}
	ctx, done := context.WithTimeout(b.ctx, patience)
	defer done()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](string(axe))); err != nil {
		b.Fatal(err)
	}
	for _, bad := range js[[]string](b, `async () => (await axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}))
		.violations.map(v => v.id + ": " + v.help + "\n    " + v.nodes.slice(0, 4).map(n => n.html.slice(0, 160) + " " + n.any.map(a => a.message).join("; ").slice(0, 160)).join("\n    "))`) {
		b.Errorf("%s: %s", what, bad)
	}
}
