package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
)

// The Markdown parser takes time that grows with the square of some inputs:
// nesting times lines, brackets or emphasis marks times the length of their
// paragraph, a table's columns times its rows. These limits keep the worst
// body near half a second, and are far beyond what people write.
const (
	maxSource     = 256 << 10 // bytes
	maxNesting    = 100       // containers inside each other
	maxNestedWork = 250_000   // lines, each times the nesting it may be in
	maxLinkWork   = 100 << 20 // bytes looked at for the ends of links
	maxMarkWork   = 200 << 20 // runs of emphasis marks in a paragraph, squared, summed
	maxCells      = 50_000    // table cells, those added to short rows included
	maxExpansion  = 1 << 20   // bytes of link addresses beyond the source's own
)

// affordable reports whether src can be parsed in bounded time. It reads src
// once, line by line, and errs towards saying no.
func affordable(src []byte) bool {
	if len(src) > maxSource {
		return false
	}
	var (
		inline           inlineWork
		nesting, work    int
		columns, cells   int
		afterBlank, rest = true, src
	)
	for len(rest) > 0 {
		var line []byte
		line, rest = cutLine(rest)
		if isBlank(line) {
			inline.endParagraph()
			columns, afterBlank = 0, true
		} else {
			indent, markers := containers(line)
			switch {
			case afterBlank && indent == 0:
				nesting = markers // nothing stays open around such a line
			case markers > 0:
				nesting = max(nesting, indent/2+markers)
			}
			if startsItem(line) {
				inline.endParagraph()
			}
			inline.add(line)
			columns = max(columns, delimiterColumns(line))
			afterBlank = false
		}
		work += nesting
		cells += columns
		if nesting > maxNesting || work > maxNestedWork || cells > maxCells || !inline.affordable() {
			return false
		}
	}
	return true
}

// inlineWork adds up what the paragraphs of a text cost. Behind each "](" the
// parser reads a destination up to a space; each other closing bracket costs a
// fraction of its paragraph's length, and each run of emphasis marks may be
// compared with all others.
type inlineWork struct {
	links, marks         int // of the paragraphs that have ended
	size, brackets, runs int // of the one that has not
}

func (w *inlineWork) add(line []byte) {
	w.size += len(line)
	space := len(line) // where the first space behind i is
	for i := len(line) - 1; i >= 0; i-- {
		switch c := line[i]; c {
		case ' ', '\t':
			space = i
		case '*', '_', '~':
			if i == 0 || line[i-1] != c {
				w.runs++
			}
		case ']':
			w.brackets++
			if i+1 < len(line) && line[i+1] == '(' {
				w.links += destination(line[i+2:], space-i)
			}
		}
	}
}

// destination gives how much of rest is read as a link's destination, when its
// first space is near bytes away. In angle brackets it may hold spaces.
func destination(rest []byte, near int) int {
	if len(rest) > 0 && (rest[0] == '<' || rest[0] == ' ' || rest[0] == '\t') {
		return len(rest)
	}
	return near
}

func (w *inlineWork) endParagraph() {
	w.links += w.bare()
	w.marks += w.runs * w.runs
	w.size, w.brackets, w.runs = 0, 0, 0
}

func (w *inlineWork) bare() int { return w.brackets * w.size / 16 }

func (w *inlineWork) affordable() bool {
	return w.links+w.bare() <= maxLinkWork && w.marks+w.runs*w.runs <= maxMarkWork
}

// cutLine splits off the first line, without its end.
func cutLine(b []byte) (line, rest []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

func isBlank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// containers counts the quote and list markers a line begins with, and the
// columns of white space before the first.
func containers(line []byte) (indent, markers int) {
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			if markers == 0 && c == ' ' {
				indent++
			} else if markers == 0 {
				indent += 4
			}
			i++
		case c == '>':
			markers++
			i++
		default:
			n := listMarker(line[i:])
			if n == 0 {
				return indent, markers
			}
			markers++
			i += n
		}
	}
	return indent, markers
}

// listMarker gives the length of the list or definition marker b begins with,
// zero when there is none.
func listMarker(b []byte) int {
	n := 0
	switch c := b[0]; {
	case c == '-' || c == '+' || c == '*' || c == ':':
		n = 1
	case c >= '0' && c <= '9':
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		if n == len(b) || b[n] != '.' && b[n] != ')' {
			return 0
		}
		n++
	case bytes.HasPrefix(b, []byte("[^")):
		i := bytes.Index(b, []byte("]:"))
		if i < 0 {
			return 0
		}
		return i + 2
	default:
		return 0
	}
	if n < len(b) && b[n] != ' ' && b[n] != '\t' {
		return 0
	}
	return n
}

// startsItem reports whether a line starts a bulleted item whatever comes
// before it, which a marker with nothing after it, or a number, may not.
func startsItem(line []byte) bool {
	text := bytes.TrimLeft(line, " ")
	return len(line)-len(text) < 4 && len(text) > 1 && bytes.IndexByte([]byte("-+*"), text[0]) >= 0 &&
		(text[1] == ' ' || text[1] == '\t') && !isBlank(text[2:])
}

// delimiterColumns gives the number of columns a line would start a table
// with, zero when it starts none.
func delimiterColumns(line []byte) int {
	line = bytes.TrimLeft(line, "> \t\r*+.)0123456789")
	if len(line) == 0 || len(bytes.Trim(line, "|:- \t\r\f")) > 0 || bytes.IndexByte(line, '-') < 0 {
		return 0
	}
	return bytes.Count(line, []byte{'|'}) + 1
}

// expands reports whether a document's links, which may name one long address
// many times, would write out far more than was written.
func expands(doc ast.Node, size int) bool {
	total := 0
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			total += len(n.Destination) + len(n.Title)
		case *ast.Image:
			total += len(n.Destination) + len(n.Title)
		}
		if total > size+maxExpansion {
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return err != nil || total > size+maxExpansion
}
