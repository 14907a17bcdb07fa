package catalogue_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// shop are words that people who write and approve should not have to know.
// Between backticks they are names, not words.
var (
	shop   = regexp.MustCompile(`(?i)\b(flag|scope|token|grant|oauth|mcp|json|api|payload|endpoint)s?\b`)
	quoted = regexp.MustCompile("`[^`]*`")
)

func shopTalk(text string) string { return shop.FindString(quoted.ReplaceAllString(text, "")) }

func TestActionsSpeakPlainly(t *testing.T) {
	for _, a := range actions(t) {
		for _, text := range []string{a.Title, a.About} {
			if word := shopTalk(text); word != "" {
				t.Errorf("%s says %q: %s", a.Name, word, text)
			}
		}
		var each func(place string, s *jsonschema.Schema)
		each = func(place string, s *jsonschema.Schema) {
			if word := shopTalk(s.Description); word != "" {
				t.Errorf("%s says %q: %s", place, word, s.Description)
			}
			for name, p := range s.Properties {
				each(place+"."+name, p)
			}
			if s.Items != nil {
				each(place+"[]", s.Items)
			}
		}
		each(a.Name, schema(t, a))
	}
}

// sayers are the functions whose texts reach people.
var sayers = map[string]bool{"Refuse": true, "refuse": true, "hold": true, "malformed": true}

func TestRefusalsSpeakPlainlyAndSayWhatToDo(t *testing.T) {
	sentences := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !sayers[nameOf(call.Fun)] {
				return true
			}
			for _, arg := range call.Args {
				lit, ok := arg.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					continue
				}
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				if word := shopTalk(text); word != "" && strings.Contains(text, " ") {
					t.Errorf("%s says %q: %s", path, word, text)
				}
				if strings.Contains(text, " ") {
					sentences++
				}
				if nameOf(call.Fun) != "malformed" && strings.Contains(text, " ") && !strings.HasSuffix(text, ".") {
					t.Errorf("%s does not say it in a sentence: %s", path, text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if sentences < 40 {
		t.Errorf("only %d sentences were found: the test looks in the wrong place", sentences)
	}
}

func nameOf(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
