package render

import (
	"bytes"
	"html/template"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Body turns an item's Markdown into HTML that is safe to put inside any page:
// no script, style, frame, form or event handler survives, every element is
// closed, links and images on the site go to the view's Base, and links to
// other sites say so in rel. Only the view's Base and Preview and the item's
// Address and Body matter. Text that would take too long to lay out is shown
// as written, escaped.
func (r *Renderer) Body(v View, it Item) template.HTML {
	src := []byte(strings.TrimPrefix(strings.ToValidUTF8(it.Body, "\uFFFD"), "\uFEFF"))
	raw, ok := r.layOut(src)
	if !ok {
		return asWritten(src)
	}
	out, ok := finish(r.policy.SanitizeBytes(raw), v, it.Address)
	if !ok {
		return asWritten(src)
	}
	return template.HTML(out)
}

// layOut gives the HTML of src, not yet sanitised, and false when it would
// cost too much. A whole HTML document is HTML already: to Markdown the
// indentation of its lines would mean code.
func (r *Renderer) layOut(src []byte) ([]byte, bool) {
	if isDocument(src) {
		return src, len(src) <= maxSource
	}
	if !affordable(src) {
		return nil, false
	}
	doc := r.markdown.Parser().Parse(text.NewReader(src))
	if expands(doc, len(src)) {
		return nil, false
	}
	var raw bytes.Buffer
	err := r.markdown.Renderer().Render(&raw, src, doc)
	return raw.Bytes(), err == nil
}

func isDocument(src []byte) bool {
	start := bytes.ToLower(bytes.TrimSpace(src[:min(len(src), 200)]))
	return bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
}

func asWritten(src []byte) template.HTML {
	return template.HTML(`<p class="note">This text is too intricate to lay out, so it is shown as written.</p>` +
		`<pre tabindex="0" class="plain">` + template.HTMLEscapeString(visibleBody(string(src))) + `</pre>`)
}

func newMarkdown() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			extension.Linkify,
			extension.Strikethrough,
			extension.TaskList,
			extension.Footnote,
			extension.DefinitionList,
			// The style attribute it would use instead is what the content
			// security policy forbids.
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
		),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(
			html.WithUnsafe(), // what comes out is sanitised as a whole
			renderer.WithNodeRenderers(util.Prioritized(nodes{}, 1)),
		),
	)
}

// nodes renders the two nodes whose usual HTML the sanitiser could only lose.
type nodes struct{}

func (nodes) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindRawHTML, rawHTML)
	reg.Register(extast.KindTaskCheckBox, taskBox)
}

// rawHTML shows a tag that swallows everything up to its closing one as text,
// like GitHub does: a sentence about "the <title> tag" must not end the page.
func rawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	tag := n.(*ast.RawHTML).Segments.Value(source)
	if swallows(tag) {
		tag = util.EscapeHTML(tag)
	}
	_, err := w.Write(tag)
	return ast.WalkSkipChildren, err
}

func swallows(tag []byte) bool {
	name := bytes.TrimLeft(tag, "</")
	if i := bytes.IndexAny(name, " \t\r\n\f/>"); i >= 0 {
		name = name[:i]
	}
	return slices.Contains([]string{
		"title", "textarea", "style", "xmp", "iframe", "noembed", "noframes", "noscript", "script", "plaintext",
	}, strings.ToLower(string(name)))
}

// taskBox shows a task's box as a character: an input has no use on a page
// without forms.
func taskBox(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	box := "☐ "
	if n.(*extast.TaskCheckBox).IsChecked {
		box = "☑ "
	}
	_, err := w.WriteString(box)
	return ast.WalkContinue, err
}
