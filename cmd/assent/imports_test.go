package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// listed is what `go list` says of one package of this module.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	CgoFiles   []string

	Imports      []string
	TestImports  []string
	XTestImports []string
}

// name is the package's path within the module.
func (p listed) name() string { return strings.TrimPrefix(p.ImportPath, "assent/") }

func listAll(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,CgoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v\n%s", err, failed.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// inside says that a path is one of these packages, or below one that ends in
// a slash and three dots.
func inside(path string, packages ...string) bool {
	for _, p := range packages {
		if below, all := strings.CutSuffix(p, "/..."); path == p || all && (path == below || strings.HasPrefix(path, below+"/")) {
			return true
		}
	}
	return false
}

// layers says who may import which packages of the house; the first that fits
// a package counts. Imports run one way: what is not listed is not allowed.
var layers = []struct{ of, may []string }{
	{[]string{"domain"}, nil},
	{[]string{"domain/vocab"}, []string{"domain"}},
	{[]string{"domain/action"}, []string{"domain", "domain/vocab"}},
	{[]string{"domain/policy", "domain/place", "domain/domaintest"}, []string{"domain", "domain/action", "domain/vocab"}},
	{[]string{"domain/catalogue"}, []string{"domain/..."}},
	{[]string{"domain/..."}, []string{"domain", "domain/vocab", "domain/action", "domain/policy", "domain/place"}}, // kinds: never each other
	{[]string{"migrations/..."}, []string{"migrations/..."}},
	{[]string{"commands"}, []string{"domain/..."}},
	{[]string{"commands/eventlog/..."}, []string{"domain/...", "commands", "commands/eventlog/...", "migrations/..."}},
	{[]string{"commands/vault", "commands/reactions"}, []string{"domain/...", "commands", "migrations/..."}},
	{[]string{"projections/..."}, []string{"domain/...", "projections/...", "migrations/..."}},
	{[]string{"mcp/skills"}, []string{"domain"}},
	{[]string{"mcp/..."}, []string{"domain/...", "commands", "projections", "mcp/..."}},
	{[]string{"httpapi/..."}, []string{"domain/...", "commands", "projections", "httpapi/..."}},
	{[]string{"cmd/..."}, []string{"domain/...", "commands/...", "projections/...", "mcp/...", "httpapi/...", "migrations/...", "cmd/..."}},
}

func TestImportsRunOneWay(t *testing.T) {
	for _, p := range listAll(t) {
		may, known := allowed(p.name())
		if !known {
			t.Errorf("%s is in no layer: say in this test where it belongs", p.name())
		}
		for _, path := range p.Imports {
			if name, ours := strings.CutPrefix(path, "assent/"); ours && !inside(name, may...) {
				t.Errorf("%s imports %s", p.name(), name)
			}
		}
	}
}

func allowed(name string) (may []string, known bool) {
	for _, l := range layers {
		if inside(name, l.of...) {
			return l.may, true
		}
	}
	return nil, false
}

// homes says where a third party may be used, by the start of its path: what is
// not listed is used nowhere. The domain is there for what describes arguments,
// for Unicode's one spelling of an address, and for comparing in tests.
var homes = map[string][]string{
	"github.com/google/jsonschema-go":        {"domain/action", "mcp/..."},
	"github.com/google/go-cmp":               {"domain/domaintest", "commands/eventlog/logtest"},
	"pgregory.net/rapid":                     {"commands/eventlog/logtest"},
	"github.com/modelcontextprotocol/go-sdk": {"mcp/...", "cmd/..."},
	"github.com/go-chi/chi":                  {"httpapi/..."},
	"github.com/yuin/goldmark":               {"httpapi/..."},
	"github.com/microcosm-cc/bluemonday":     {"httpapi/..."},
	"github.com/alexedwards/argon2id":        {"commands/vault"},
	"github.com/ThreeDotsLabs/":              {"commands/reactions"},
	"github.com/nats-io/":                    {"commands/reactions"},
	"github.com/twmb/franz-go":               {"commands/reactions"},
	"github.com/pressly/goose":               {"migrations/...", "commands/vault"},
	"github.com/jackc/pgx":                   {"commands/eventlog/postgres/...", "commands/vault", "commands/reactions", "projections/..."},
	"github.com/EventStore/":                 {"commands/eventlog/eventstoredb/..."},
	"github.com/google/uuid":                 {"commands/eventlog/eventstoredb/..."},
	"google.golang.org/grpc":                 {"commands/eventlog/eventstoredb/..."},
	"google.golang.org/protobuf":             {"commands/eventlog/eventstoredb/..."},
	"github.com/anishathalye/porcupine":      {"commands/eventlog/logtest"},
	"golang.org/x/mod":                       {"commands/eventlog/..."},
	"modernc.org/sqlite":                     {"commands/eventlog/sqlite", "commands/vault", "commands/reactions", "projections/..."},
	"zombiezen.com/go/sqlite":                {"commands/eventlog/sqlite", "projections"},
	"github.com/alecthomas/kong":             {"cmd/..."},
	"github.com/gofrs/flock":                 {"cmd/..."},
	"github.com/goccy/go-yaml":               {"cmd/...", "mcp/skills"},
	"github.com/BurntSushi/toml":             {"cmd/..."},
	"golang.org/x/crypto":                    {"commands/vault"},
	"golang.org/x/net":                       {"httpapi/..."},
	"golang.org/x/sync":                      {"commands/...", "projections/...", "mcp/...", "httpapi/...", "cmd/..."},
	"golang.org/x/sys":                       {"cmd/..."},
	"golang.org/x/text":                      {"domain/place", "commands/...", "httpapi/...", "cmd/..."},
}

func TestThirdPartiesStayAtHome(t *testing.T) {
	for _, p := range listAll(t) {
		for _, path := range p.Imports {
			if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
				continue // ours, or the standard library's
			}
			if !inside(p.name(), homeOf(path)...) {
				t.Errorf("%s imports %s", p.name(), path)
			}
		}
	}
}

func homeOf(path string) []string {
	for start, home := range homes {
		if strings.HasPrefix(path, start) {
			return home
		}
	}
	return nil
}

// The domain's tests need no more than its code, and two tools.
func TestTheDomainIsTestedWithLittle(t *testing.T) {
	for _, p := range listAll(t) {
		if !inside(p.name(), "domain/...") {
			continue
		}
		for _, path := range append(p.TestImports, p.XTestImports...) {
			first, _, _ := strings.Cut(path, "/")
			tool := strings.HasPrefix(path, "github.com/google/go-cmp") || path == "pgregory.net/rapid" || strings.HasPrefix(path, "github.com/google/jsonschema-go")
			if strings.Contains(first, ".") && !tool || first == "assent" && !strings.HasPrefix(path, "assent/domain") {
				t.Errorf("a test of %s imports %s", p.name(), path)
			}
		}
	}
}

// A person who decides is made where people sign in, and nowhere else: no
// tool, no key and no command line can.
func TestOnlyTheDoorThatSignsPeopleInMakesAPerson(t *testing.T) {
	doors := 0
	for _, p := range listAll(t) {
		for _, file := range append(p.GoFiles, p.CgoFiles...) {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); !ok || id.Name != "SignedIn" {
					return true
				}
				switch p.name() {
				case "httpapi":
					doors++
				case "domain": // says what it is
				default:
					t.Errorf("%s/%s makes a person", p.name(), file)
				}
				return true
			})
		}
	}
	if doors == 0 {
		t.Error("nobody can sign in: the test looks for the wrong name")
	}
}
