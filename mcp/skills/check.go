package skills

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nameForm is the Agent Skills format's: small letters, digits and single
// hyphens. There is no second spelling of one name.
var nameForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func checkName(name string) error {
	if len(name) > 64 || !nameForm.MatchString(name) {
		return errors.New("A skill's name is of small letters, digits and single hyphens, 64 at most.")
	}
	return nil
}

// pathForm leaves no two spellings of a path, and none that means something to
// a shell, an address or another system.
var pathForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$`)

func checkPath(at string) error {
	if len(at) > 200 || !pathForm.MatchString(at) {
		return fmt.Errorf("The file name %q is not of plain letters, digits, dots, hyphens and underscores.", clean(at))
	}
	return nil
}

// hidden says that a name is a tool's own: such files are no part of a skill.
func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// readFile reads one file of text. It may have become a link since it was
// listed: the root lets none lead out, and what is opened is looked at again.
func readFile(own *os.Root, at string) (File, error) {
	f, err := own.Open(at)
	if err != nil {
		return File{}, sentence(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, sentence(err)
	}
	if !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("%q is no ordinary file. Links are not followed.", clean(at))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return File{}, sentence(err)
	case len(text) > maxFile:
		return File{}, fmt.Errorf("%q is larger than %d KiB.", clean(at), maxFile>>10)
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return File{}, fmt.Errorf("%q is not text.", clean(at))
	}
	sum := sha256.Sum256(text)
	return File{Path: at, Size: int64(len(text)), Digest: "sha256:" + hex.EncodeToString(sum[:]), Text: string(text)}, nil
}

// sentence is a fault of the file system without its path, which is nobody's
// business who reads this.
func sentence(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("It cannot be read: %w.", at.Err)
	}
	return err
}

// clean is somebody's word as it may be shown: short and visible.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > 60 {
		s = string(runes[:60]) + "…"
	}
	return s
}
