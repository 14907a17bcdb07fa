package catalogue_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// glossary are the words that the design settles, in its order.
const glossary = `action · command · call · registry · never-list · target · visibility · decision · rehearsal · card · event · word ·
upcast · refusal · verdict · finding · cause · proposal · approval · confirmation · standing approval · undo · compensation · principal · person · agent ·
key · mode · scope · permission · grant · skill · stream · version · position · projection · row · checkpoint · generation · rebuild · live · pending · low risk`

func TestGlossaryAndCodeAreTogether(t *testing.T) {
	text, err := os.ReadFile("../GLOSSARY.md")
	if err != nil {
		t.Fatal(err)
	}
	names := identifiers(t, "../..")
	var words []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.TrimSpace(cells[1]) == "meaning" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		word, meaning, code := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		words = append(words, word)
		if meaning == "" {
			t.Errorf("%s means nothing", word)
		}
		found := codeName.FindAllStringSubmatch(code, -1)
		if found == nil {
			t.Errorf("%s has no place in the code", word)
		}
		for _, name := range found {
			if !names[name[1]] {
				t.Errorf("%s is said to be %s, which is not in the code", word, name[1])
			}
		}
	}
	if diff := cmp.Diff(strings.Split(strings.ReplaceAll(glossary, "\n", " "), " · "), words); diff != "" {
		t.Errorf("words (-design +glossary):\n%s", diff)
	}
}

var codeName = regexp.MustCompile("`([^`]+)`")

// identifiers are the names of what a tree of Go files declares: `package.Name`,
// and `package.Type.Member` for methods and fields.
func identifiers(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			declared(decl, func(name string) { names[file.Name.Name+"."+name] = true })
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func declared(decl ast.Decl, add func(string)) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add(d.Name.Name)
			return
		}
		add(receiver(d.Recv.List[0].Type) + "." + d.Name.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					add(n.Name)
				}
			case *ast.TypeSpec:
				add(s.Name.Name)
				for _, m := range members(s.Type) {
					add(s.Name.Name + "." + m)
				}
			}
		}
	}
}

// receiver is the name of a method's type, without its pointer and parameters.
func receiver(e ast.Expr) string {
	switch r := e.(type) {
	case *ast.StarExpr:
		return receiver(r.X)
	case *ast.IndexExpr:
		return receiver(r.X)
	case *ast.IndexListExpr:
		return receiver(r.X)
	case *ast.Ident:
		return r.Name
	}
	return ""
}

func members(e ast.Expr) []string {
	var list *ast.FieldList
	switch t := e.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return nil
	}
	var names []string
	for _, f := range list.List {
		for _, n := range f.Names {
			names = append(names, n.Name)
		}
	}
	return names
}
