package folder_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"assent/cmd/assent/folder"
)

// realFolder is where CI keeps a real site's posts and pages; ASSENT_CONTENT
// names another place for the same files.
func realFolder() string {
	if dir := os.Getenv("ASSENT_CONTENT"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "..", "shared", "data", "18f")
}

func TestARealSiteIsReadWhole(t *testing.T) {
	parent := os.DirFS(realFolder())
	content, err := fs.Sub(parent, "content")
	if err != nil {
		t.Fatal(err)
	}
	tree := read(t, content)
	codes := map[string]int{}
	for _, s := range tree.Skipped {
		codes[s.Code]++
	}
	same(t, map[string]int{"articles": 504, "pages": 43, "ignored": 0},
		map[string]int{"articles": len(tree.Articles), "pages": len(tree.Pages), "ignored": tree.Ignored})
	same(t, map[string]int{folder.CodeRedirectOnly: 22, folder.CodeTemplate: 7, folder.CodeNotContent: 2}, codes)
	same(t, tree, read(t, content))

	t.Run("and its parent gives the same", func(t *testing.T) {
		got := read(t, parent)
		for i := range got.Articles {
			got.Articles[i].File = strings.TrimPrefix(got.Articles[i].File, "content/")
		}
		for i := range got.Pages {
			got.Pages[i].File = strings.TrimPrefix(got.Pages[i].File, "content/")
		}
		same(t, tree.Articles, got.Articles)
		same(t, tree.Pages, got.Pages)
		beside := folder.Skip{File: "LICENSE.md", Code: folder.CodeNotContent, Reason: "lies beside the folder content, which holds the site"}
		same(t, beside, got.Skipped[0])
	})
	t.Run("and every value keeps its promise", func(t *testing.T) { checkPromises(t, tree) })
	t.Run("and known items read as they should", func(t *testing.T) { checkKnown(t, tree) })
}

var slug = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func checkPromises(t *testing.T, tree folder.Tree) {
	slugs, paths := map[string]bool{}, map[string]bool{}
	for _, a := range tree.Articles {
		layout := time.DateOnly
		if len(a.Date) > len(layout) {
			layout = time.RFC3339
		}
		if _, err := time.Parse(layout, a.Date); err != nil {
			t.Errorf("%s: %v", a.File, err)
		}
		if !slug.MatchString(a.Slug) || len(a.Slug) > 200 || slugs[a.Locale+" "+a.Slug] {
			t.Errorf("%s: slug %q is malformed or taken", a.File, a.Slug)
		}
		if a.Collection != "posts" || a.Title == "" || a.Summary == "" || a.Body == "" || len(a.Tags) == 0 || len(a.Authors) == 0 {
			t.Errorf("%s: a field is missing: %+v", a.File, a)
		}
		slugs[a.Locale+" "+a.Slug] = true
	}
	for _, p := range tree.Pages {
		malformed := p.Path != "/" && (!strings.HasPrefix(p.Path, "/") || strings.HasSuffix(p.Path, "/")) || strings.Contains(p.Path, "//")
		if malformed || paths[p.Path] || p.Title == "" || strings.HasPrefix(p.Path, "/pages") {
			t.Errorf("%s: path %q is malformed or taken, or the title %q is empty", p.File, p.Path, p.Title)
		}
		paths[p.Path] = true
	}
}

func checkKnown(t *testing.T, tree folder.Tree) {
	articles, pages := map[string]folder.Article{}, map[string]folder.Page{}
	for _, a := range tree.Articles {
		a.Body, a.Summary, a.Meta = "", "", nil
		articles[a.File] = a
	}
	for _, p := range tree.Pages {
		pages[p.Path] = p
	}
	for _, want := range []folder.Article{
		{
			File: "posts/2014-03-12-coming-soon.md", Collection: "posts", Slug: "coming-soon", Title: "Coming soon",
			Date: "2014-03-12T10:11:00-04:00", Tags: []string{"18f"}, Authors: []string{"18F"},
		},
		{
			File: "posts/2024-12-5-18f-project-defaults.md", Collection: "posts", Slug: "18f-project-defaults",
			Title: "18F project defaults", Date: "2024-12-05", Tags: []string{"18f", "best practices", "how we work"}, Authors: []string{"18F"},
		},
		{
			File: "posts/2024-08-20-andrew-hyder-award.md", Collection: "posts", Slug: "andrew-hyder-award-2024-08-20",
			Title: "Andrew Hyder Government Service Improvement Award recognizes commitment to serving the public",
			Date:  "2024-08-20", Tags: []string{"public service"}, Authors: []string{"amanda-costello"},
		},
	} {
		same(t, want, articles[want.File])
	}
	spanish := articles["posts/2021-09-16-a_day_in_the_life_-_ingeniero_en_18f.md"]
	same(t, []string{"es-PR", "a-day-in-the-life-ingeniero-en-18f"}, []string{spanish.Locale, spanish.Slug})
	for path, file := range map[string]string{
		"/": "pages/home.html", "/about": "pages/about.md", "/404.html": "pages/errors/404.md",
		"/contact/press": "pages/contact/press.html", "/our-work/data-act": "pages/projects/services/treasury-data-act.md",
	} {
		if pages[path].File != file {
			t.Errorf("%s: want %s, got %q", path, file, pages[path].File)
		}
	}
}

// BenchmarkRead reads the real site from disk; files/s is what it is for.
func BenchmarkRead(b *testing.B) {
	fsys := os.DirFS(realFolder())
	if _, err := fs.Stat(fsys, "."); err != nil {
		b.Skipf("no real site to read at %s; name one in ASSENT_CONTENT", realFolder())
	}
	files := 0
	for b.Loop() {
		tree, err := folder.Read(fsys)
		if err != nil {
			b.Fatal(err)
		}
		files += len(tree.Articles) + len(tree.Pages) + len(tree.Skipped)
	}
	b.ReportMetric(float64(files)/b.Elapsed().Seconds(), "files/s")
}
