package card

import (
	"strings"
	"unicode"
)

// around is how many same lines are shown beside different ones.
const around = 2

// lines compares two texts line by line. Lines that stand for each other show
// which of their words differ.
func lines(before, after string) []Line {
	a, b := splitLines(before), splitLines(after)
	var all []Line
	var gone, come []string
	flush := func() {
		all = append(all, paired(gone, come)...)
		gone, come = nil, nil
	}
	for _, e := range compare(a, b) {
		switch e.side {
		case both:
			flush()
			all = append(all, Line{Spans: []Span{{Text: e.text}}})
		case left:
			gone = append(gone, e.text)
		case right:
			come = append(come, e.text)
		}
	}
	flush()
	return folded(all)
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(s, "\r\n", "\n"), "\n"), "\n")
}

// paired shows a run of lines that went and one of lines that came.
func paired(gone, come []string) []Line {
	var minus, plus []Line
	for i, g := range gone {
		l := Line{Sign: "−", Spans: []Span{{Text: g}}}
		if i < len(come) {
			was, is := words(g, come[i])
			l.Spans = was
			plus = append(plus, Line{Sign: "+", Spans: is})
		}
		minus = append(minus, l)
	}
	for _, c := range come[min(len(gone), len(come)):] {
		plus = append(plus, Line{Sign: "+", Spans: []Span{{Text: c}}})
	}
	return append(minus, plus...)
}

// folded leaves out same lines that are not beside a different one.
func folded(all []Line) []Line {
	near := make([]bool, len(all))
	for i, l := range all {
		if l.Sign == "" {
			continue
		}
		for j := max(0, i-around); j < min(len(all), i+around+1); j++ {
			near[j] = true
		}
	}
	var shown []Line
	for i, l := range all {
		switch last := len(shown) - 1; {
		case near[i]:
			shown = append(shown, l)
		case last >= 0 && shown[last].Sign == "⋯":
			shown[last].Skipped++
		default:
			shown = append(shown, Line{Sign: "⋯", Skipped: 1})
		}
	}
	return shown
}

// words compares two lines word by word. Where little is the same, marks would
// be confetti: then nothing is marked, since all of it is new.
func words(before, after string) (was, is []Span) {
	same, total := 0, len(before)+len(after)
	for _, e := range compare(tokens(before), tokens(after)) {
		switch e.side {
		case both:
			was, is = add(was, e.text, false), add(is, e.text, false)
			if strings.TrimSpace(e.text) != "" {
				same += 2 * len(e.text)
			}
		case left:
			was = add(was, e.text, true)
		case right:
			is = add(is, e.text, true)
		}
	}
	if 4*same < total {
		return []Span{{Text: before}}, []Span{{Text: after}}
	}
	return bridged(was), bridged(is)
}

// bridged marks the blanks between two marks too: a phrase reads as one.
func bridged(spans []Span) (joined []Span) {
	for i, s := range spans {
		between := i > 0 && i+1 < len(spans) && spans[i-1].Mark && spans[i+1].Mark
		joined = add(joined, s.Text, s.Mark || between && strings.TrimSpace(s.Text) == "")
	}
	return joined
}

func add(spans []Span, text string, mark bool) []Span {
	if n := len(spans); n > 0 && spans[n-1].Mark == mark {
		spans[n-1].Text += text
		return spans
	}
	return append(spans, Span{text, mark})
}

// tokens splits a line into words, runs of spaces, and single other characters.
func tokens(s string) (parts []string) {
	class := func(r rune) int {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 0
	}
	last := -1
	for _, r := range s {
		c := class(r)
		if c != 0 && c == last {
			parts[len(parts)-1] += string(r)
		} else {
			parts = append(parts, string(r))
		}
		last = c
	}
	return parts
}

type side int

const (
	both side = iota
	left
	right
)

type edit struct {
	side side
	text string
}

// maxCells bounds the work of one comparison. Beyond it the middle parts are
// shown as replaced, which is true, if not as helpful.
const maxCells = 1 << 20

// compare finds a longest common subsequence, after setting aside what both
// begin and end with.
func compare(a, b []string) (edits []edit) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for _, s := range a[:head] {
		edits = append(edits, edit{both, s})
	}
	edits = append(edits, middle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, s := range a[len(a)-tail:] {
		edits = append(edits, edit{both, s})
	}
	return edits
}

func middle(a, b []string) (edits []edit) {
	i, j := 0, 0
	if len(a)*len(b) <= maxCells {
		longest := table(a, b)
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				edits = append(edits, edit{both, a[i]})
				i, j = i+1, j+1
			case longest[i+1][j] >= longest[i][j+1]:
				edits = append(edits, edit{left, a[i]})
				i++
			default:
				edits = append(edits, edit{right, b[j]})
				j++
			}
		}
	}
	for _, s := range a[i:] {
		edits = append(edits, edit{left, s})
	}
	for _, s := range b[j:] {
		edits = append(edits, edit{right, s})
	}
	return edits
}

// table holds, for each pair of places, the length of the longest common
// subsequence from there on.
func table(a, b []string) [][]int32 {
	rows := make([][]int32, len(a)+1)
	cells := make([]int32, (len(a)+1)*(len(b)+1))
	for i := range rows {
		rows[i] = cells[i*(len(b)+1) : (i+1)*(len(b)+1)]
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				rows[i][j] = rows[i+1][j+1] + 1
			} else {
				rows[i][j] = max(rows[i+1][j], rows[i][j+1])
			}
		}
	}
	return rows
}
