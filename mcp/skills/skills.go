// Package skills reads Agent Skills: folders that say how a job is done, each
// with a SKILL.md whose front matter is of the Agent Skills format and whose
// metadata may say what a call that declares the skill is narrowed to:
//
//	assent.scopes    what it may reach at most, such as "content:read content:write"
//	assent.approval  actions that wait for a person under it, such as "article.remove"
//	assent.requires  features of the server that it cannot do without
//
// A skill takes away and never gives: what it does not narrow is left as the
// caller has it. Folders are read when somebody asks, so what is said of one is
// what is there now, and its digest says which one that was. What is in them is
// somebody's text: names, sizes, depth and links are checked before it is read.
package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"assent/domain"
)

// Manifest is the file that makes a folder a skill.
const Manifest = "SKILL.md"

// What a skill may hold at most.
const (
	maxSkills = 200
	maxFiles  = 100
	maxFile   = 256 << 10 // bytes
	maxAll    = 2 << 20   // bytes
	maxDepth  = 4         // folders below the skill's own
)

// Skill is one folder as it was read.
type Skill struct {
	Name     string
	Front    Front
	Scopes   []string // nil does not narrow
	Approval []string // actions that wait under it
	Digest   string   // sha256:… over its files' paths and contents
	Files    []File   // by path, the manifest first
}

// File is one file of a skill.
type File struct {
	Path   string // below the skill's folder, with slashes
	Size   int64
	Digest string // sha256:…
	Text   string
}

// Bad is a folder that is no skill, and why.
type Bad struct {
	Name string
	Why  string
}

// Library reads the skills of one folder.
type Library struct {
	dir      string
	scopes   []string
	features []string
	action   func(name string) (string, bool)
}

// Open is the library of a folder, which need not exist. Scopes and features are
// those that skills may name; action finds the name of an action by that of its
// tool or its own.
func Open(dir string, scopes, features []string, action func(name string) (string, bool)) *Library {
	return &Library{dir, scopes, features, action}
}

// List reads every skill, by name, and says which folders are none.
func (l *Library) List() ([]Skill, []Bad, error) {
	root, err := os.OpenRoot(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the skills cannot be read: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, nil, fmt.Errorf("the skills cannot be read: %w", err)
	}
	var all []Skill
	var bad []Bad
	for _, e := range entries {
		if hidden(e.Name()) || e.Type().IsRegular() {
			continue // a README beside them, say
		}
		s, err := l.read(root, e.Name())
		switch {
		case err != nil:
			bad = append(bad, Bad{clean(e.Name()), err.Error()})
		case len(all) == maxSkills:
			bad = append(bad, Bad{s.Name, fmt.Sprintf("There are more than %d skills.", maxSkills)})
		default:
			all = append(all, s)
		}
	}
	return all, bad, nil
}

// Get reads one skill. One that is not there, or is none, is refused (skill).
func (l *Library) Get(name string) (Skill, error) {
	unknown := domain.Refuse("skill", "There is no such skill here. Leave it out, or use one that is listed.")
	if checkName(name) != nil {
		return Skill{}, unknown
	}
	root, err := os.OpenRoot(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Skill{}, unknown
	}
	if err != nil {
		return Skill{}, fmt.Errorf("the skills cannot be read: %w", err)
	}
	defer root.Close()
	if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return Skill{}, unknown
	}
	s, err := l.read(root, name)
	if err != nil {
		return Skill{}, domain.Refuse("skill", "The skill %q cannot be used: %s", name, err)
	}
	return s, nil
}

// File is a file of the skill by its path.
func (s Skill) File(path string) (File, bool) {
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.Path == path })
	if i < 0 {
		return File{}, false
	}
	return s.Files[i], true
}

// read reads one folder. What it is told of it goes to whoever looks after the
// folder, in a sentence.
func (l *Library) read(root *os.Root, name string) (Skill, error) {
	if err := checkName(name); err != nil {
		return Skill{}, err
	}
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return Skill{}, sentence(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return Skill{}, errors.New("It is a link. Put the folder itself here.")
	case !info.IsDir():
		return Skill{}, errors.New("It is no folder.")
	}
	own, err := root.OpenRoot(name)
	if err != nil {
		return Skill{}, sentence(err)
	}
	defer own.Close()
	files, err := filesOf(own)
	if err != nil {
		return Skill{}, err
	}
	s := Skill{Name: name, Files: files}
	manifest, ok := s.File(Manifest)
	if !ok {
		return Skill{}, errors.New("It has no SKILL.md.")
	}
	if s.Front, err = parse(manifest.Text); err != nil {
		return Skill{}, fmt.Errorf("SKILL.md: %w", err)
	}
	if s.Front.Name != name {
		return Skill{}, fmt.Errorf("SKILL.md: its name is %q, but its folder's is %q.", clean(s.Front.Name), name)
	}
	if err := l.narrow(&s); err != nil {
		return Skill{}, fmt.Errorf("SKILL.md: %w", err)
	}
	slices.SortFunc(s.Files, func(a, b File) int {
		if (a.Path == Manifest) != (b.Path == Manifest) {
			if a.Path == Manifest {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	s.Digest = digest(s.Files)
	return s, nil
}

// narrow reads what the metadata says to this server.
func (l *Library) narrow(s *Skill) error {
	for key, value := range s.Front.Metadata {
		said, ours := strings.CutPrefix(key, "assent.")
		if !ours {
			continue
		}
		words := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
		var known func(string) (string, bool)
		var to *[]string
		switch said {
		case "scopes":
			known, to = in(l.scopes), &s.Scopes
		case "approval":
			known, to = l.action, &s.Approval
		case "requires":
			known, to = in(l.features), new([]string)
		default:
			return fmt.Errorf("%q is not known. There are assent.scopes, assent.approval and assent.requires.", clean(key))
		}
		*to = []string{} // said and empty: none at all
		for _, w := range words {
			name, ok := known(w)
			if !ok {
				return fmt.Errorf("%s names %q, which this server does not have.", key, clean(w))
			}
			*to = append(*to, name)
		}
	}
	return nil
}

// in finds a word among some.
func in(list []string) func(string) (string, bool) {
	return func(w string) (string, bool) { return w, slices.Contains(list, w) }
}

// filesOf reads all of a skill's files, within bounds.
func filesOf(own *os.Root) ([]File, error) {
	var files []File
	var all int64
	err := fs.WalkDir(own.FS(), ".", func(at string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return sentence(err)
		case at == ".":
			return nil
		case hidden(e.Name()):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case checkPath(at) != nil:
			return checkPath(at)
		case e.IsDir():
			if strings.Count(at, "/") >= maxDepth {
				return fmt.Errorf("Its folders are more than %d deep.", maxDepth)
			}
			return nil
		case !e.Type().IsRegular():
			return fmt.Errorf("%q is no ordinary file. Links are not followed.", clean(at))
		case len(files) == maxFiles:
			return fmt.Errorf("It has more than %d files.", maxFiles)
		}
		f, err := readFile(own, at)
		if err != nil {
			return err
		}
		if all += f.Size; all > maxAll {
			return fmt.Errorf("Its files come to more than %d KiB.", maxAll>>10)
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// digest says which files these are: two skills have one only if they are the
// same in every byte.
func digest(files []File) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s %s\n", f.Digest, f.Path) // a path holds no line break
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// MediaType is what a file is served as.
func (f File) MediaType() string {
	if known, ok := mediaTypes[strings.ToLower(path.Ext(f.Path))]; ok {
		return known
	}
	return "text/plain"
}

var mediaTypes = map[string]string{
	".md": "text/markdown", ".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".csv": "text/csv",
}
