package folder_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"assent/cmd/assent/folder"
)

// files makes a folder of name, text, name, text …
func files(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

func read(t *testing.T, fsys fs.FS) folder.Tree {
	t.Helper()
	tree, err := folder.Read(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func skipped(tree folder.Tree) map[string]string {
	codes := map[string]string{}
	for _, s := range tree.Skipped {
		codes[s.File] = s.Code
	}
	return codes
}

func TestADatedFileIsAnArticleInEveryNotation(t *testing.T) {
	want := folder.Article{
		Collection: "posts", Slug: "first-beds", Title: "First beds", Summary: "We dug.", Body: "Text {{ kept }}\n",
		Date: "2024-03-02T09:30:00+01:00", Tags: []string{"soil", "spring"}, Authors: []string{"Ada", "Ben"},
		Meta: map[string]any{"draft": true, "weight": int64(3), "ratio": 1.5, "hero": map[string]any{"alt": "A spade"}},
	}
	for name, text := range map[string]string{
		"YAML": "---\ntitle: First beds\nexcerpt: We dug.\ndate: 2024-03-02T09:30:00+01:00\ntags: [soil, spring]\n" +
			"authors:\n- Ada\n- name: Ben\ndraft: true\nweight: 3\nratio: 1.5\nhero: {alt: A spade}\n---\n\nText {{ kept }}\n",
		"TOML": "+++\ntitle = 'First beds'\nsummary = 'We dug.'\ndate = 2024-03-02T09:30:00+01:00\ntags = ['soil', 'spring']\n" +
			"authors = ['Ada', 'Ben']\ndraft = true\nweight = 3\nratio = 1.5\n[hero]\nalt = 'A spade'\n+++\nText {{ kept }}\n",
		"JSON": `{"title": "First beds", "description": "We dug.", "date": "2024-03-02 09:30 +0100", "tags": "soil spring",` +
			`"author": ["Ada", "Ben"], "draft": true, "weight": 3, "ratio": 1.5, "hero": {"alt": "A spade"}}` + "\n\nText {{ kept }}\n",
		"fenced JSON": "---json\n" + `{"title": "First beds", "description": "We dug.", "date": "2024/03/02 9:30:00 +1",
			"tags": "soil, spring", "author": ["Ada", "Ben"], "draft": true, "weight": 3, "ratio": 1.5, "hero": {"alt": "A spade"}}` +
			"\n---\nText {{ kept }}\n",
	} {
		t.Run(name, func(t *testing.T) {
			tree := read(t, files("posts/2024-03-01-first-beds.md", text))
			want.File = "posts/2024-03-01-first-beds.md"
			same(t, folder.Tree{Articles: []folder.Article{want}}, tree)
		})
	}
}

func TestTheCollectionIsTheNearestFolderThatIsNotANumber(t *testing.T) {
	for file, want := range map[string]string{
		"2024-01-02-x.md":                  "posts",
		"_posts/2024-01-02-x.md":           "posts",
		"pages/2024-01-02-x.html":          "posts",
		"news/2024-01-02-x.md":             "news",
		"news/2024/01/2024-1-2-x.markdown": "news",
		"Field Notes/2024-01-02-x.md":      "field-notes",
		"content/blog/2024-01-02-x.md":     "blog",
		"blog/2024-01-02-x/index.md":       "blog",
	} {
		tree := read(t, files(file, "text"))
		if len(tree.Articles) != 1 || tree.Articles[0].Collection != want || tree.Articles[0].Slug != "x" {
			t.Errorf("%s: want an article x of %s, got %+v", file, want, tree)
		}
	}
}

func TestSlugsAreAsciiWordsJoinedByHyphens(t *testing.T) {
	for name, want := range map[string]string{
		"Hello_World--again":                "hello-world-again",
		"Crème-brûlée":                      "creme-brulee",
		"Straße & Ærø":                      "strasse-aero",
		"don’t-panic":                       "dont-panic",
		"ﬁne²":                              "fine2",
		"日本":                                "2024-01-02",
		strings.Repeat("word-", 60) + "end": strings.TrimSuffix(strings.Repeat("word-", 40), "-"),
	} {
		tree := read(t, files("posts/2024-01-02-"+name+".md", "text"))
		if len(tree.Articles) != 1 || tree.Articles[0].Slug != want {
			t.Errorf("%q: want %q, got %+v", name, want, tree.Articles)
		}
	}
}

func TestClashingSlugsGetTheirDateInNameOrder(t *testing.T) {
	tree := read(t, files(
		"posts/2023-01-01-award.md", "a",
		"posts/2024-01-01-award.md", "b",
		"posts/2024-01-01-award.html", "c",
		"posts/2024-1-1-award.md", "d",
		"posts/2025-01-01-award-2024-01-01.md", "has the name by itself",
		"posts/2024-01-01-award.fr.md", "another locale",
		"news/2024-01-01-award.md", "another collection",
	))
	got := map[string]string{}
	for _, a := range tree.Articles {
		got[a.File] = a.Slug
	}
	same(t, map[string]string{
		"news/2024-01-01-award.md":             "award",
		"posts/2023-01-01-award.md":            "award",
		"posts/2024-01-01-award.fr.md":         "award",
		"posts/2024-01-01-award.html":          "award-2024-01-01-2",
		"posts/2024-01-01-award.md":            "award-2024-01-01-3",
		"posts/2024-1-1-award.md":              "award-2024-01-01-4",
		"posts/2025-01-01-award-2024-01-01.md": "award-2024-01-01",
	}, got)
}

func TestAPageIsFoundAtItsPermalinkOrItsFile(t *testing.T) {
	for file, c := range map[string]struct{ permalink, want string }{
		"index.md":              {"", "/"},
		"about.md":              {"", "/about"},
		"about/index.html":      {"", "/about"},
		"docs/_index.md":        {"", "/docs"},
		"pages/team/us.htm":     {"", "/team/us"},
		"content/pages/x.md":    {"", "/x"},
		"_recipes/Leek soup.md": {"", "/recipes/Leek soup"},
		"node.js.md":            {"", "/node.js"},
		"2024-13-40-x.md":       {"", "/2024-13-40-x"},
		"a.md":                  {"/about/", "/about"},
		"b.md":                  {"404.html", "/404.html"},
		"c.md":                  {"/caf%C3%A9%2520/", "/café%20"},
		"d.md":                  {"/cafe\u0301//index.html", "/café"},
		"e.md":                  {"https://example.org/here?x#y", "/here"},
		"f.md":                  {"/", "/"},
		"g.md":                  {"/:categories/:title/", "/g"},
		"h.md":                  {"pretty", "/h"},
	} {
		text := "text"
		if c.permalink != "" {
			text = "---\npermalink: '" + c.permalink + "'\n---\ntext"
		}
		tree := read(t, files(file, text))
		if len(tree.Pages) != 1 || tree.Pages[0].Path != c.want {
			t.Errorf("%s at %q: want %q, got %+v", file, c.permalink, c.want, tree)
		}
	}
}

func TestAPermalinkNoPageCanHaveIsRefused(t *testing.T) {
	for _, link := range []string{"/a/../b", "/./a", "/%zz", "/%00", "/%ff", "/a%5Cb", "/%2e%2e/x"} {
		tree := read(t, files("a.md", "---\npermalink: "+link+"\n---\ntext"))
		if skipped(tree)["a.md"] != folder.CodePath || len(tree.Pages) != 0 {
			t.Errorf("%s: want it skipped as %s, got %+v", link, folder.CodePath, tree)
		}
	}
}

func TestTheFirstPageInNameOrderKeepsASharedAddress(t *testing.T) {
	tree := read(t, files(
		"a.md", "---\npermalink: /x/\n---\nfirst",
		"b.md", "---\npermalink: /x\n---\nsecond",
		"es/y.md", "under a folder",
		"y.es.md", "by its locale",
		"news/2024-01-02-z.md", "an article",
		"news/z.md", "a page where the article is",
	))
	same(t, []folder.Skip{
		{File: "b.md", Code: folder.CodeDuplicate, Reason: "its address /x is already taken by a.md"},
		{File: "news/z.md", Code: folder.CodeDuplicate, Reason: "its address /news/z is already taken by news/2024-01-02-z.md"},
		{File: "y.es.md", Code: folder.CodeDuplicate, Reason: "its address /es/y is already taken by es/y.md"},
	}, tree.Skipped)
}

func TestWhatIsNoContentIsSkippedWithItsReason(t *testing.T) {
	fm := func(lines string) string { return "---\n" + lines + "\n---\n" }
	big := strings.Repeat("x", 5<<10)
	for name, c := range map[string]struct{ file, text, code, says string }{
		"a redirect":                {"a.md", fm("redirect_to: /b") + " \n", folder.CodeRedirectOnly, "elsewhere"},
		"a dated redirect":          {"p/2024-01-02-a.md", fm("redirect: [/b]"), folder.CodeRedirectOnly, "elsewhere"},
		"a Liquid file":             {"a.liquid", "x", folder.CodeTemplate, "template"},
		"a Nunjucks file":           {"a.njk", "x", folder.CodeTemplate, "template"},
		"a template for a place":    {"a.md", fm(`permalink: "{{ tag.url }}"`) + "x", folder.CodeTemplate, "permalink"},
		"no place":                  {"a.md", fm("permalink: false") + "x", folder.CodeTemplate, "false"},
		"pagination":                {"a.html", fm("pagination: {data: collections.all, size: 5}") + "x", folder.CodeTemplate, "paginates"},
		"a feed":                    {"a.md", fm("permalink: /feed.xml") + "x", folder.CodeNotContent, "/feed.xml"},
		"a script":                  {"a.js", "x", folder.CodeNotContent, "neither"},
		"nothing at all":            {"a.md", "\n \n", folder.CodeEmpty, "no text"},
		"empty front matter":        {"a.md", fm("") + "\n", folder.CodeEmpty, "no text"},
		"invalid UTF-8":             {"a.md", "a\xff", folder.CodeEncoding, "invalid UTF-8"},
		"a zero byte":               {"a.md", "a\x00", folder.CodeEncoding, "zero"},
		"a body too large":          {"a.md", strings.Repeat("x", folder.MaxBody+1), folder.CodeTooLarge, "body"},
		"a file far too large":      {"a.md", strings.Repeat("x", 1<<20), folder.CodeTooLarge, "file"},
		"a title too large":         {"a.md", fm("title: " + big), folder.CodeTooLarge, "title"},
		"a summary too large":       {"2024-01-02-a.md", fm("summary: " + big), folder.CodeTooLarge, "summary"},
		"a tag too large":           {"2024-01-02-a.md", fm("tags: [" + big + "]"), folder.CodeTooLarge, "tags"},
		"meta too large":            {"a.md", fm("x: " + strings.Repeat("x", 17<<10)), folder.CodeTooLarge, "JSON"},
		"front matter too large":    {"a.md", fm("# " + strings.Repeat("x", 33<<10)), folder.CodeTooLarge, "front matter"},
		"YAML that is not YAML":     {"a.md", fm("a: b\nb: [c") + "x", folder.CodeFrontMatter, "line 3: "},
		"a field given twice":       {"a.md", fm("a: b\nc: d\na: e") + "x", folder.CodeFrontMatter, `line 4: mapping key "a" already defined`},
		"a list for fields":         {"a.md", fm("- a") + "x", folder.CodeFrontMatter, "line 2: it is not a list of fields"},
		"front matter never closed": {"a.md", "---\na: b\n", folder.CodeFrontMatter, "line 1: it is opened here and never closed"},
		"TOML that is not TOML":     {"a.md", "+++\na = 1\nb = = 2\n+++\nx", folder.CodeFrontMatter, "line 3: "},
		"JSON that is not JSON":     {"a.md", "{\n\"a\": 1,\n\"b\": }\nx", folder.CodeFrontMatter, "line 3: "},
		"JSON never closed":         {"a.md", "{\n\"a\": 1,\n", folder.CodeFrontMatter, "never closed"},
		"a JSON name given twice":   {"a.md", "{\"a\": 1,\n\"a\": 2}\nx", folder.CodeFrontMatter, `line 2: "a" is given twice`},
		"a script for front matter": {"a.md", "---js\n{}\n---\nx", folder.CodeFrontMatter, "script"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := read(t, files(c.file, c.text))
			if len(tree.Skipped) != 1 || len(tree.Articles)+len(tree.Pages) != 0 {
				t.Fatalf("want one skip and nothing else, got %+v", tree)
			}
			if s := tree.Skipped[0]; s.File != c.file || s.Code != c.code || !strings.Contains(s.Reason, c.says) {
				t.Errorf("want %s saying %q, got %+v", c.code, c.says, s)
			}
		})
	}
}

func TestAnArticleIsKeptWhateverItsPermalinkSays(t *testing.T) {
	tree := read(t, files("posts/2024-01-02-a.md", "---\npermalink: \"/{{ page.fileSlug }}/\"\n---\nx"))
	if len(tree.Articles) != 1 || tree.Articles[0].Meta["permalink"] != "/{{ page.fileSlug }}/" {
		t.Errorf("want the article with its permalink in the meta, got %+v", tree)
	}
}

func TestATextAtItsLimitIsKept(t *testing.T) {
	body := strings.Repeat("x", folder.MaxBody)
	tree := read(t, files("a.md", "---\ntitle: "+strings.Repeat("t", folder.MaxText)+"\n---\n"+body))
	if len(tree.Pages) != 1 || tree.Pages[0].Body != body {
		t.Errorf("want the page, got %d pages and %+v", len(tree.Pages), tree.Skipped)
	}
}

func TestHiddenAndGeneratorFoldersAreOnlyCounted(t *testing.T) {
	tree := read(t, files(
		".git/a.md", "x", ".hidden.md", "x", "node_modules/p/readme.md", "x", "_includes/a.md", "x", "_layouts/a.html", "x",
		"_data/a.md", "x", "layouts/a.html", "x", "themes/t/a.md", "x", "docs/node_modules/a.md", "x",
		"docs/themes/dark.md", "x",
	))
	if tree.Ignored != 9 || len(tree.Skipped) != 0 || len(tree.Pages) != 1 || tree.Pages[0].Path != "/docs/themes/dark" {
		t.Errorf("want 9 ignored and the page about themes, got %+v", tree)
	}
}

func TestAContentFolderIsTheSiteUnlessAHomePageLiesBesideIt(t *testing.T) {
	fsys := files("README.md", "x", "package.json", "{}", "content/about.md", "x", "content/posts/2024-01-02-a.md", "x")
	tree := read(t, fsys)
	if tree.Pages[0].Path != "/about" || tree.Pages[0].File != "content/about.md" || tree.Articles[0].Collection != "posts" || tree.Ignored != 1 {
		t.Errorf("want the content unwrapped, got %+v", tree)
	}
	same(t, map[string]string{"README.md": folder.CodeNotContent}, skipped(tree))

	fsys["index.md"] = &fstest.MapFile{Data: []byte("home")}
	if tree := read(t, fsys); len(tree.Pages) != 3 || tree.Pages[1].Path != "/content/about" {
		t.Errorf("want content as a section, got %+v", tree.Pages)
	}
}

func TestSymbolicLinksAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.md")
	for name, text := range map[string]string{outside: "secret", filepath.Join(dir, "a.md"): "x"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(outside), "site.yaml"), []byte("title: Secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"b.md": outside, "c": filepath.Dir(outside), "d.md": "a.md", "site.yaml": outside, "_data": filepath.Dir(outside),
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	tree := read(t, os.DirFS(dir))
	same(t, map[string]string{
		"_data": folder.CodeSymlink, "b.md": folder.CodeSymlink, "c": folder.CodeSymlink, "d.md": folder.CodeSymlink, "site.yaml": folder.CodeSymlink,
	}, skipped(tree))
	if len(tree.Pages) != 1 || tree.Site != nil {
		t.Errorf("want the one page, got %+v", tree)
	}
}

func TestOnlyARootThatCannotBeListedIsAnError(t *testing.T) {
	_, err := folder.Read(os.DirFS(filepath.Join(t.TempDir(), "missing")))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want fs.ErrNotExist, got %v", err)
	}
	same(t, folder.Tree{}, read(t, fstest.MapFS{}))
}

func TestTheSiteIsDescribedByTheFirstFileThatSaysAnything(t *testing.T) {
	for file, c := range map[string]struct {
		text string
		want folder.Site
	}{
		"site.yaml": {
			"title: Garden\ntagline: We dig\nlocale: en_GB\nmenu:\n- {label: Home, path: /}\n- {label: Out, path: https://example.org}\n",
			folder.Site{Title: "Garden", Tagline: "We dig", Locale: "en-GB", Menu: []folder.MenuItem{{Label: "Home", Path: "/"}}},
		},
		"_config.yml": {"name: Garden\ndescription: We dig\nlang: en\n", folder.Site{Title: "Garden", Tagline: "We dig", Locale: "en"}},
		"hugo.toml": {
			"title = 'Garden'\nlanguageCode = 'en-us'\n[params]\ndescription = 'We dig'\n" +
				"[[menu.main]]\nname = 'Later'\nurl = '/later/'\nweight = 2\n[[menu.main]]\nname = 'Now'\nurl = '/now/'\nweight = 1\n",
			folder.Site{Title: "Garden", Tagline: "We dig", Locale: "en-us", Menu: []folder.MenuItem{{Label: "Now", Path: "/now"}, {Label: "Later", Path: "/later"}}},
		},
		"_data/site.json":   {`{"title": "Garden"}`, folder.Site{Title: "Garden"}},
		"content/site.yaml": {"title: Garden", folder.Site{Title: "Garden"}},
	} {
		c.want.File = file
		tree := read(t, files(file, c.text))
		same(t, folder.Tree{Site: &c.want, Ignored: tree.Ignored}, tree)
	}
	tree := read(t, files("site.yaml", "title: [", "config.toml", "a = 1", "hugo.json", `{"title": "Garden"}`))
	same(t, map[string]string{"site.yaml": folder.CodeFrontMatter, "config.toml": folder.CodeNotContent}, skipped(tree))
	if tree.Site == nil || tree.Site.Title != "Garden" {
		t.Errorf("want the site of the next file, got %+v", tree.Site)
	}
}

func TestALocaleComesFromTheFileAndTheSitesOwnIsEmpty(t *testing.T) {
	tree := read(t, files(
		"site.yaml", "locale: en",
		"a.md", "---\nlang: en\npermalink: /en/a/\n---\nx",
		"b.md", "---\nlocale: es_PR\npermalink: /es-PR/b/\n---\nx",
		"c.fr.md", "x",
		"d.md", "---\nlang: {of: maps}\n---\nx",
	))
	var got [][2]string
	for _, p := range tree.Pages {
		got = append(got, [2]string{p.Locale, p.Path})
	}
	same(t, [][2]string{{"", "/en/a"}, {"es-PR", "/b"}, {"fr", "/c"}, {"", "/d"}}, got)
}

func TestAMissingTitleComesFromTheFirstHeadingOrTheName(t *testing.T) {
	for _, c := range []struct{ file, body, want string }{
		{"a.md", "Intro\n\n## The *second* [bed](/b) `now` {#id} ##\n\n# Later", "The second bed now"},
		{"a.md", "```\n# not this\n```\n\nSet in lines\n===\n", "Set in lines"},
		{"a.md", "Text\n\n---\n\n# After a rule", "After a rule"},
		{"a.md", "<div><h2 class=\"x\">Beds &amp;\n <em>paths</em></h2></div>", "Beds & paths"},
		{"a.html", "<head><title>In the head</title></head><p>x</p>", "In the head"},
		{"open-data_now.md", "# {{ page.title }}", "Open data now"},
		{"ünder.md", "x", "Ünder"},
		{"open-data/index.md", "x", "Open data"},
		{"index.md", "x", "Home"},
		{"2024-01-02-late-frost.md", "x", "Late frost"},
		{"a.md", "---\ntitle: 2.10\n---\n# Heading", "2.10"},
		{"a.md", "---\ntitle: >\n  Over\n  two lines\n---\n# Heading", "Over two lines"},
	} {
		tree := read(t, files(c.file, c.body))
		got := ""
		for _, p := range tree.Pages {
			got = p.Title
		}
		for _, a := range tree.Articles {
			got = a.Title
		}
		if got != c.want {
			t.Errorf("%s %q: want %q, got %q", c.file, c.body, c.want, got)
		}
	}
}

func TestDatesBecomeADayOrRFC3339(t *testing.T) {
	for written, want := range map[string]string{
		"2014-03-02":                    "2014-03-02",
		"2014-3-2":                      "2014-03-02",
		"2014/03/02":                    "2014-03-02",
		"20140302":                      "2014-03-02",
		"March 2, 2014":                 "2014-03-02",
		"2 Mar 2014":                    "2014-03-02",
		"2014-03-02T10:11:00-04:00":     "2014-03-02T10:11:00-04:00",
		"2014-03-02 10:11:12 -4":        "2014-03-02T10:11:12-04:00",
		"2014-03-02 9:05 +0530":         "2014-03-02T09:05:00+05:30",
		"2014-03-02 10:11":              "2014-03-02T10:11:00Z",
		"2014-03-02T10:11:12.340Z":      "2014-03-02T10:11:12.34Z",
		"2014-03-02 10:11:12 UTC":       "2014-03-02T10:11:12Z",
		"Sun, 02 Mar 2014 10:11:12 GMT": "2014-03-02T10:11:12Z",
	} {
		tree := read(t, files("2024-01-02-a.md", "---\ndate: "+written+"\n---\nx"))
		if a := tree.Articles[0]; a.Date != want || len(a.Meta) != 0 {
			t.Errorf("%s: want %s, got %s with meta %v", written, want, a.Date, a.Meta)
		}
	}
}

func TestADateNobodyCanReadIsKeptAndTheNamesDateStands(t *testing.T) {
	for _, written := range []string{"12/03/2014", "2014-02-30", "2014-03-02 25:00", "soon", "2014-03-02 10:00 +99", "2014-03-02 10:00 EST"} {
		tree := read(t, files("2024-01-02-a.md", "---\ndate: "+written+"\n---\nx"))
		if a := tree.Articles[0]; a.Date != "2024-01-02" || a.Meta["date"] != written {
			t.Errorf("%s: want the date of the name and the text kept, got %+v", written, a)
		}
	}
}

func TestTagsAndAuthorsInEverySpelling(t *testing.T) {
	for _, c := range []struct {
		front         string
		tags, authors []string
		meta          map[string]any
	}{
		{"tags: a b  a", []string{"a", "b"}, nil, map[string]any{}},
		{"tags: big bed, b,", []string{"big bed", "b"}, nil, map[string]any{}},
		{"tags: [x y, 2024, '', ~, x y]", []string{"x y", "2024"}, nil, map[string]any{}},
		{"tags:\nauthor: ", nil, nil, map[string]any{}},
		{"author: {email: a@example.org}", nil, nil, map[string]any{"author": map[string]any{"email": "a@example.org"}}},
		{"tags: {a: b}", nil, nil, map[string]any{"tags": map[string]any{"a": "b"}}},
		{"author: Ada Lo, Dr.", nil, []string{"Ada Lo, Dr."}, map[string]any{}},
		{"author: {name: Ada}", nil, []string{"Ada"}, map[string]any{}},
		{"authors: [Ada]\nauthor: Ben", nil, []string{"Ada"}, map[string]any{"author": "Ben"}},
		{"author: {name: Ada, url: /ada}", nil, []string{"Ada"}, map[string]any{"author": map[string]any{"name": "Ada", "url": "/ada"}}},
	} {
		a := read(t, files("2024-01-02-a.md", "---\n"+c.front+"\n---\nx")).Articles[0]
		if !cmp.Equal(a.Tags, c.tags) || !cmp.Equal(a.Authors, c.authors) || !cmp.Equal(a.Meta, c.meta) {
			t.Errorf("%q: got tags %q, authors %q, meta %v", c.front, a.Tags, a.Authors, a.Meta)
		}
	}
}

func TestMetaKeepsWhatWasTypedAndIsAlwaysJSON(t *testing.T) {
	const front = "int: 3\nhalf: 0.5\nversion: 1.10\nzip: 007\nhuge: 12345678901234567890\nnan: .nan\ninf: -.inf\nday: 2024-01-02\n" +
		"yes: yes\non: true\nnone:\nbase: &b {x: 1, y: 2}\nover: {<<: *b, y: 3}\ntext: |\n  two\n  lines\n5: five\nstr: !!str 8\n"
	p := read(t, files("a.md", "---\r\n"+strings.ReplaceAll(front, "\n", "\r\n")+"---\r\nx")).Pages[0]
	same(t, map[string]any{
		"int": int64(3), "half": 0.5, "version": "1.10", "zip": "007", "huge": "12345678901234567890", "nan": ".nan", "inf": "-.inf",
		"day": "2024-01-02", "yes": "yes", "on": true, "none": nil, "base": map[string]any{"x": int64(1), "y": int64(2)},
		"over": map[string]any{"x": int64(1), "y": int64(3)}, "text": "two\nlines\n", "5": "five", "str": "8",
	}, p.Meta)
	p = read(t, files("a.md", "+++\nday = 2024-01-02\nat = 2024-01-02T10:00:00\nhour = 10:00:00\nnan = nan\nhuge = 9223372036854775807\n+++\nx")).Pages[0]
	same(t, map[string]any{"day": "2024-01-02", "at": "2024-01-02T10:00:00", "hour": "10:00:00", "nan": "NaN", "huge": "9223372036854775807"}, p.Meta)
	if _, err := json.Marshal(p.Meta); err != nil {
		t.Error(err)
	}
}

func TestAByteOrderMarkAndTemplateTextAreNoFrontMatter(t *testing.T) {
	tree := read(t, files("a.md", "\uFEFF---\ntitle: T\n---\n\n \n    code\n", "b.md", "{{ text }}\n", "c.md", "{% if x %}y{% endif %}"))
	var got []string
	for _, p := range tree.Pages {
		got = append(got, p.Title+"|"+p.Body)
	}
	same(t, []string{"T|    code\n", "B|{{ text }}\n", "C|{% if x %}y{% endif %}"}, got)
}
