package demosite_test

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assent/cmd/assent/demosite"
	"assent/cmd/assent/folder"
)

func TestTheDemoSiteIsReadAsExactlyItsPagesAndArticles(t *testing.T) {
	tree, err := folder.Read(demosite.FS)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range tree.Pages {
		got = append(got, p.Path+" "+p.Title)
	}
	for _, a := range tree.Articles {
		got = append(got, "/"+a.Collection+"/"+a.Slug+" "+a.Date+" "+a.Title)
	}
	want := []string{
		"/about About the club",
		"/growing-calendar Growing calendar",
		"/ A garden between the railway and the river",
		"/plots Take a plot",
		"/seed-library The seed library",
		"/visit Visit us",
		"/notes/seed-potatoes 2024-03-09 Seed potatoes: which, and how many",
		"/notes/slugs-an-honest-list 2024-06-15 Slugs: an honest list",
		"/notes/saving-the-yard-bean 2024-10-05 Saving the yard bean",
		"/posts/the-manure-has-landed 2024-02-17 The manure has landed",
		"/posts/the-path-by-the-orchard 2024-04-20T16:30:00+01:00 The path by the orchard is open again",
		"/posts/plant-sale-thank-you 2024-05-18T18:05:00+01:00 Plant sale: thank you, and the sum",
		"/posts/watering-in-a-dry-month 2024-07-06 Watering in a dry month",
		"/posts/harvest-table 2024-09-14 What was on the harvest table",
		"/posts/new-committee 2024-11-23 A new committee, and a short meeting",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(tree.Skipped) != 0 || tree.Ignored != 0 {
		t.Errorf("want nothing left out, got %v and %d ignored", tree.Skipped, tree.Ignored)
	}
}

func TestEveryArticleIsWholeAndOfAReadableLength(t *testing.T) {
	tree, err := folder.Read(demosite.FS)
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{}
	for _, a := range tree.Articles {
		bodies[a.File] = a.Body
		if a.Summary == "" || len(a.Tags) == 0 || len(a.Authors) == 0 {
			t.Errorf("%s: want a summary, tags and authors, got %+v", a.File, a)
		}
		if day := a.Date[:len(time.DateOnly)]; !strings.HasPrefix(path.Base(a.File), day) {
			t.Errorf("%s: dated %s", a.File, a.Date)
		}
	}
	for _, p := range tree.Pages {
		bodies[p.File] = p.Body
	}
	for file, body := range bodies {
		if words := len(strings.Fields(body)); words < 80 || words > 260 {
			t.Errorf("%s: %d words", file, words)
		}
	}
}

func TestTheMenuLeadsToPagesThatExist(t *testing.T) {
	tree, err := folder.Read(demosite.FS)
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	for _, p := range tree.Pages {
		paths[p.Path] = true
	}
	if tree.Site == nil || tree.Site.Title != "Larkhill Road Allotments" || tree.Site.Tagline == "" ||
		tree.Site.Locale != "en-GB" || len(tree.Site.Menu) != 5 {
		t.Fatalf("want the site with a menu of five, got %+v", tree.Site)
	}
	for _, m := range tree.Site.Menu {
		if !paths[m.Path] {
			t.Errorf("the menu's %q leads to %s, where no page is", m.Label, m.Path)
		}
	}
}
