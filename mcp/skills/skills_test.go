package skills_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assent/domain"
	"assent/mcp/skills"
)

const voice = `---
name: house-voice
description: How we write here. Use it whenever a text is made or changed.
license: CC0-1.0
metadata:
  author: the editors
  version: 1.10
  assent.scopes: content:read content:write
  assent.approval: article.remove, page_remove
---
# The house's voice
`

// front is a manifest of one skill with more lines of front matter.
func front(name string, lines ...string) string {
	return "---\nname: " + name + "\ndescription: A skill.\n" + strings.Join(append(lines, "---", "text"), "\n") + "\n"
}

func library(t *testing.T, files map[string]string) (*skills.Library, string) {
	t.Helper()
	dir := t.TempDir()
	for at, text := range files {
		at = filepath.Join(dir, at)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	known := []string{"article.remove", "page.remove"}
	return skills.Open(dir, []string{"content:read", "content:write", "publish"}, []string{"publish"}, func(a string) (string, bool) {
		a = strings.ReplaceAll(a, "_", ".")
		return a, slices.Contains(known, a)
	}), dir
}

func TestASkillIsReadWithAllItsFiles(t *testing.T) {
	l, _ := library(t, map[string]string{
		"house-voice/SKILL.md":               voice,
		"house-voice/references/examples.md": "Say it plainly.\n",
		"house-voice/.git/config":            "not ours",
		"README.md":                          "beside them",
	})
	s, err := l.Get("house-voice")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Scopes, []string{"content:read", "content:write"}) || !slices.Equal(s.Approval, []string{"article.remove", "page.remove"}) {
		t.Errorf("it narrows to %v, and %v wait", s.Scopes, s.Approval)
	}
	want := map[string]string{
		"author": "the editors", "version": "1.10",
		"assent.scopes": "content:read content:write", "assent.approval": "article.remove, page_remove",
	}
	if !maps.Equal(s.Front.Metadata, want) || s.Front.License != "CC0-1.0" {
		t.Errorf("its front matter is %+v", s.Front)
	}
	if text, err := json.Marshal(s.Front); err != nil || !strings.Contains(string(text), `"version":1.1`) || !strings.Contains(string(text), `"license":"CC0-1.0"`) {
		t.Errorf("as JSON it is %s, %v", text, err)
	}
	if len(s.Files) != 2 || s.Files[0].Path != skills.Manifest || s.Files[1].Path != "references/examples.md" || s.Files[1].MediaType() != "text/markdown" {
		t.Errorf("its files are %+v", s.Files)
	}
	all, bad, err := l.List()
	if err != nil || len(all) != 1 || len(bad) != 0 || all[0].Digest != s.Digest {
		t.Errorf("listed are %d, %v, %v", len(all), bad, err)
	}
}

func TestEveryChangeOfASkillIsAnotherDigest(t *testing.T) {
	seen := map[string]string{}
	for name, files := range map[string]map[string]string{
		"as it is":       {"SKILL.md": voice, "a.md": "one"},
		"a byte":         {"SKILL.md": voice, "a.md": "two"},
		"a file's name":  {"SKILL.md": voice, "b.md": "one"},
		"a file less":    {"SKILL.md": voice},
		"a file more":    {"SKILL.md": voice, "a.md": "one", "b.md": ""},
		"the manifest":   {"SKILL.md": voice + "\n", "a.md": "one"},
		"a file's place": {"SKILL.md": voice, "a/a.md": "one"},
	} {
		under := map[string]string{}
		for at, text := range files {
			under["house-voice/"+at] = text
		}
		l, _ := library(t, under)
		s, err := l.Get("house-voice")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if other, twice := seen[s.Digest]; twice {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[s.Digest] = name
	}
}

func TestAChangedFileIsSeenAtOnce(t *testing.T) {
	l, dir := library(t, map[string]string{"a/SKILL.md": front("a", "metadata:", "  assent.scopes: publish")})
	before, err := l.Get("a")
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "a/SKILL.md")
	info, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(strings.Replace(front("a", "metadata:", "  assent.scopes: publish"), "text", "TEXT", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(at, info.ModTime(), info.ModTime()); err != nil { // as large and as old as before
		t.Fatal(err)
	}
	after, err := l.Get("a")
	if err != nil || after.Digest == before.Digest {
		t.Errorf("%v, %s", err, after.Digest)
	}
}

func TestWhatASkillDoesNotSayIsNotNarrowed(t *testing.T) {
	l, _ := library(t, map[string]string{
		"silent/SKILL.md":  front("silent"),
		"nothing/SKILL.md": front("nothing", "metadata:", `  assent.scopes: ""`),
	})
	if s, err := l.Get("silent"); err != nil || s.Scopes != nil {
		t.Errorf("%#v, %v", s.Scopes, err)
	}
	if s, err := l.Get("nothing"); err != nil || s.Scopes == nil || len(s.Scopes) != 0 {
		t.Errorf("%#v, %v", s.Scopes, err)
	}
}

func TestASkillThatIsNoneIsRefusedWithTheReason(t *testing.T) {
	many := map[string]string{"a/SKILL.md": front("a")}
	for i := range 101 {
		many["a/f"+strings.Repeat("x", i)+".md"] = ""
	}
	for name, c := range map[string]struct {
		files map[string]string
		why   string
	}{
		"no manifest":             {map[string]string{"a/other.md": ""}, "no SKILL.md"},
		"a manifest by any case":  {map[string]string{"a/skill.md": front("a")}, "no SKILL.md"},
		"no front matter":         {map[string]string{"a/SKILL.md": "# Hello"}, "between two lines"},
		"front matter left open":  {map[string]string{"a/SKILL.md": "---\nname: a\n"}, "between two lines"},
		"another's name":          {map[string]string{"a/SKILL.md": front("b")}, `its name is "b"`},
		"a seventh field":         {map[string]string{"a/SKILL.md": front("a", "hooks: x")}, `"hooks" is not of the format`},
		"a field twice":           {map[string]string{"a/SKILL.md": front("a", "name: a")}, ""},
		"no description":          {map[string]string{"a/SKILL.md": "---\nname: a\n---\n"}, "no description"},
		"a long description":      {map[string]string{"a/SKILL.md": "---\nname: a\ndescription: " + strings.Repeat("x", 1025) + "\n---\n"}, "longer than 1024"},
		"fields within fields":    {map[string]string{"a/SKILL.md": front("a", "metadata:", "  x:", "    y: z")}, `"x" must hold a text`},
		"a list":                  {map[string]string{"a/SKILL.md": front("a", "allowed-tools:", "  - x")}, "a text each"},
		"an anchor":               {map[string]string{"a/SKILL.md": front("a", "license: &x y")}, "a text each"},
		"a bomb of aliases":       {map[string]string{"a/SKILL.md": front("a", "metadata:", "  a: &a [x,x]", "  b: *a")}, "a text each"},
		"a tag":                   {map[string]string{"a/SKILL.md": front("a", "license: !!binary aGk=")}, "a text each"},
		"a deep one":              {map[string]string{"a/SKILL.md": front("a", "license: "+strings.Repeat("[", 8000))}, "a text each"},
		"a second document":       {map[string]string{"a/SKILL.md": front("a", "...", "license: x")}, ""},
		"much front matter":       {map[string]string{"a/SKILL.md": front("a", "license: "+strings.Repeat("x", 20<<10))}, "16 KiB"},
		"an unknown word of ours": {map[string]string{"a/SKILL.md": front("a", "metadata:", "  assent.mode: bypass")}, `"assent.mode" is not known`},
		"an unknown scope":        {map[string]string{"a/SKILL.md": front("a", "metadata:", "  assent.scopes: everything")}, `names "everything"`},
		"an unknown action":       {map[string]string{"a/SKILL.md": front("a", "metadata:", "  assent.approval: article.burn")}, `names "article.burn"`},
		"an unknown feature":      {map[string]string{"a/SKILL.md": front("a", "metadata:", "  assent.requires: flying")}, `names "flying"`},
		"bytes":                   {map[string]string{"a/SKILL.md": front("a"), "a/x.png": "\x89PNG\x00"}, "is not text"},
		"broken text":             {map[string]string{"a/SKILL.md": front("a"), "a/x.md": "\xff\xfe"}, "is not text"},
		"a huge file":             {map[string]string{"a/SKILL.md": front("a"), "a/x.md": strings.Repeat("x", 256<<10+1)}, "larger than 256 KiB"},
		"a deep folder":           {map[string]string{"a/SKILL.md": front("a"), "a/b/c/d/e/f/x.md": ""}, "more than 4 deep"},
		"a name with a blank":     {map[string]string{"a/SKILL.md": front("a"), "a/x y.md": ""}, "plain letters"},
		"a name of another page":  {map[string]string{"a/SKILL.md": front("a"), "a/x\\..\\y.md": ""}, "plain letters"},
		"a name with a line in":   {map[string]string{"a/SKILL.md": front("a"), "a/x\ny.md": ""}, "plain letters"},
		"a name turned around":    {map[string]string{"a/SKILL.md": front("a"), "a/x\u202edm.md": ""}, "plain letters"},
		"very many files":         {many, "more than 100 files"},
	} {
		l, _ := library(t, c.files)
		_, err := l.Get("a")
		no, meant := errors.AsType[*domain.Refusal](err)
		if !meant || no.Code != "skill" || !strings.Contains(no.Reason, c.why) {
			t.Errorf("%s: %v", name, err)
		}
		all, bad, err := l.List()
		if err != nil || len(all) != 0 || len(bad) != 1 || strings.ContainsAny(bad[0].Why, "\n\u202e") {
			t.Errorf("%s: listed are %d, %v, %v", name, len(all), bad, err)
		}
	}
}

func TestNothingOutsideItsFolderIsRead(t *testing.T) {
	l, dir := library(t, map[string]string{"a/SKILL.md": front("a"), "b/SKILL.md": front("b"), "c/SKILL.md": front("c"), "d/other.md": ""})
	secret := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(secret, []byte(front("d")), 0o600); err != nil {
		t.Fatal(err)
	}
	for at, to := range map[string]string{
		"a/x.md":     secret,
		"b/x":        filepath.Dir(secret),
		"c/x.md":     "SKILL.md",
		"d/SKILL.md": secret,
		"linked":     filepath.Dir(secret),
	} {
		if err := os.Symlink(to, filepath.Join(dir, at)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "c", "d", "linked"} {
		if s, err := l.Get(name); err == nil {
			t.Errorf("%s is read: %+v", name, s)
		}
	}
	all, bad, err := l.List()
	if err != nil || len(all) != 0 || len(bad) != 5 {
		t.Errorf("listed are %d, %v, %v", len(all), bad, err)
	}
	for _, name := range []string{"", ".", "..", "../" + filepath.Base(dir) + "/a", "a/../a", "A", "a\x00", "a/", "/a", "а", strings.Repeat("a", 65), "-a", "a--b"} {
		no, meant := errors.AsType[*domain.Refusal](func() error { _, err := l.Get(name); return err }())
		if !meant || no.Code != "skill" || !strings.HasPrefix(no.Reason, "There is no such skill") {
			t.Errorf("%q: %v", name, no)
		}
	}
}

func TestAFolderThatIsNotThereHoldsNoSkills(t *testing.T) {
	l := skills.Open(filepath.Join(t.TempDir(), "skills"), nil, nil, nil)
	if all, bad, err := l.List(); err != nil || all != nil || bad != nil {
		t.Errorf("%v, %v, %v", all, bad, err)
	}
	if _, err := l.Get("a"); err == nil {
		t.Error("there is one")
	}
}

func FuzzAManifestIsReadOrRefused(f *testing.F) {
	f.Add(voice)
	f.Add(front("a", "metadata: {a: b}", "license: |", "  x"))
	f.Add("---\n? a\n: b\n---\n")
	f.Add("---\nname: 'a\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, _ := library(t, map[string]string{"a/SKILL.md": text})
		s, err := l.Get("a")
		if _, meant := errors.AsType[*domain.Refusal](err); err != nil && !meant {
			t.Fatal(err)
		}
		if err == nil && (s.Front.Name != "a" || s.Front.Description == "") {
			t.Fatalf("%+v", s.Front)
		}
	})
}
