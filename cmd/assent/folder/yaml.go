package folder

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// decodeYAML reads a mapping. The syntax tree is turned into values here
// rather than by the library, so that aliases are weighed as they are
// followed, and dates, long numbers and the like stay as they were typed.
func decodeYAML(block string) (fields, *fieldError) {
	tokens := lexer.Tokenize(block)
	if err := checkDepth(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, yamlError(err)
	}
	y := yamlReader{weigher: newWeigher(), anchors: map[string]ast.Node{}}
	var value any
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if value != nil {
			return nil, badField(lineOf(doc.Body), "it holds a second document")
		}
		v, bad := y.value(doc.Body, 0)
		if bad != nil {
			return nil, bad
		}
		value = v
	}
	switch v := value.(type) {
	case nil:
		return fields{}, nil
	case map[string]any:
		return v, nil
	}
	return nil, badField(1, "it is not a list of fields")
}

// checkDepth refuses deep nesting before the parser, whose time grows with
// the square of it, sees the tokens.
func checkDepth(tokens token.Tokens) *fieldError {
	flow, line := 0, 0
	var columns []int // of the open block structures
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			columns = openAt(columns, t.Position.Column)
		default:
			if t.Position.Line != line {
				columns = openAt(columns, t.Position.Column)
			}
		}
		line = t.Position.Line
		if flow+len(columns) > 2*maxDepth {
			return badField(line, "fields are nested more than %d deep", maxDepth)
		}
	}
	return nil
}

func openAt(columns []int, column int) []int {
	for len(columns) > 0 && columns[len(columns)-1] >= column {
		columns = columns[:len(columns)-1]
	}
	return append(columns, column)
}

func yamlError(err error) *fieldError {
	var ye yaml.Error
	if !errors.As(err, &ye) {
		return badField(0, "%s", err)
	}
	line := 0
	if t := ye.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	// Places in the message count from the start of the block, not the file.
	message, _, _ := strings.Cut(ye.GetMessage(), " at [")
	return badField(line, "%s", message)
}

type yamlReader struct {
	*weigher
	anchors map[string]ast.Node // only those whose value is complete, so none contains itself
}

func (y *yamlReader) value(n ast.Node, depth int) (any, *fieldError) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return y.mapping(n.Values, n, depth)
	case *ast.MappingValueNode:
		return y.mapping([]*ast.MappingValueNode{n}, n, depth)
	case *ast.SequenceNode:
		return y.sequence(n, depth)
	case *ast.AnchorNode:
		v, err := y.value(n.Value, depth+1)
		y.anchors[nameOf(n.Name)] = n.Value
		return v, err
	case *ast.AliasNode:
		target, ok := y.anchors[nameOf(n.Value)]
		if !ok {
			return nil, badField(lineOf(n), "nothing above is anchored as %q", clip(nameOf(n.Value)))
		}
		return y.value(target, depth+1)
	case *ast.TagNode:
		return y.tagged(n, depth)
	}
	v, text := scalar(n)
	return v, y.add(text, depth, lineOf(n))
}

// mapping reads the pairs of a mapping; what << merges in gives way to them.
func (y *yamlReader) mapping(pairs []*ast.MappingValueNode, n ast.Node, depth int) (any, *fieldError) {
	if err := y.add("", depth, lineOf(n)); err != nil {
		return nil, err
	}
	m := make(map[string]any, len(pairs))
	var merged []any
	for _, p := range pairs {
		v, err := y.value(p.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if p.Key.IsMergeKey() {
			merged = append(merged, v)
			continue
		}
		key, err := y.key(p.Key, depth+1)
		if err != nil {
			return nil, err
		}
		if _, twice := m[key]; twice {
			return nil, badField(lineOf(p.Key), "%q is given twice", clip(key))
		}
		m[key] = v
	}
	for _, v := range merged {
		mergeInto(m, v)
	}
	return m, nil
}

func mergeInto(m map[string]any, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if _, own := m[key]; !own {
				m[key] = value
			}
		}
	case []any:
		for _, one := range v {
			if _, isMap := one.(map[string]any); isMap {
				mergeInto(m, one)
			}
		}
	}
}

func (y *yamlReader) key(n ast.Node, depth int) (string, *fieldError) {
	if k, ok := n.(*ast.MappingKeyNode); ok {
		n = k.Value
	}
	v, err := y.value(n, depth)
	if err != nil {
		return "", err
	}
	key, ok := textOf(v)
	if !ok {
		return "", badField(lineOf(n), "the name of a field is not a text")
	}
	return key, nil
}

func (y *yamlReader) sequence(n *ast.SequenceNode, depth int) (any, *fieldError) {
	if err := y.add("", depth, lineOf(n)); err != nil {
		return nil, err
	}
	list := make([]any, 0, len(n.Values))
	for _, one := range n.Values {
		v, err := y.value(one, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// tagged honours !!str; other tags say nothing that a plain value could keep.
func (y *yamlReader) tagged(n *ast.TagNode, depth int) (any, *fieldError) {
	if n.Value == nil {
		return nil, nil
	}
	if n.Start.Value == "!!str" {
		if _, isScalar := n.Value.(ast.ScalarNode); isScalar {
			_, text := scalar(n.Value)
			return text, y.add(text, depth, lineOf(n))
		}
	}
	return y.value(n.Value, depth+1)
}

// scalar gives a value and the text it was written as.
func scalar(n ast.Node) (any, string) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, n.Value
	case *ast.LiteralNode:
		return n.Value.Value, n.Value.Value
	case *ast.BoolNode:
		return n.Value, n.Token.Value
	case *ast.IntegerNode:
		return number(n.Token.Value), n.Token.Value
	case *ast.FloatNode:
		return number(n.Token.Value), n.Token.Value
	case *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, n.GetToken().Value
	}
	return nil, ""
}

// number reads a number if printing it again gives the same text. Otherwise
// (1.10, 007, 0x1f, more digits than JSON readers keep) the text is the value,
// so that nothing somebody typed is lost.
func number(text string) any {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && exact(i) && strconv.FormatInt(i, 10) == text {
		return i
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && formatFloat(f) == text {
		return f
	}
	return text
}

// exact says whether a reader that has only float64 keeps the integer.
func exact(i int64) bool { return -1<<53 <= i && i <= 1<<53 }

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func nameOf(n ast.Node) string {
	if n == nil || n.GetToken() == nil {
		return ""
	}
	return n.GetToken().Value
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}
