package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Front is a manifest's front matter: the six fields of the Agent Skills
// format. As JSON it is what a reader of YAML makes of it: hosts compare.
type Front struct {
	Name          string
	Description   string
	License       string
	Compatibility string
	AllowedTools  string
	Metadata      map[string]string

	verbatim map[string]any
}

// MarshalJSON gives the fields as they were written.
func (f Front) MarshalJSON() ([]byte, error) { return json.Marshal(f.verbatim) }

// scalar is one value, as it was written and as YAML reads it.
type scalar struct {
	text  string
	value any
}

const maxFront = 16 << 10 // bytes

// parse reads the front matter of a manifest.
func parse(text string) (Front, error) {
	rest, opened := strings.CutPrefix(strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n"), "---\n")
	block, _, closed := strings.Cut("\n"+rest, "\n---\n")
	if !closed {
		block, closed = strings.CutSuffix("\n"+rest, "\n---")
	}
	switch {
	case !opened || !closed:
		return Front{}, errors.New("it must begin with a block of fields between two lines of ---.")
	case len(block) > maxFront:
		return Front{}, fmt.Errorf("its fields come to more than %d KiB.", maxFront>>10)
	}
	fields, metadata, err := fieldsOf(block)
	if err != nil {
		return Front{}, err
	}
	f := Front{verbatim: map[string]any{}}
	for name, s := range fields {
		f.verbatim[name] = s.value
	}
	if metadata != nil {
		f.Metadata = make(map[string]string, len(metadata))
		read := make(map[string]any, len(metadata))
		for name, s := range metadata {
			f.Metadata[name], read[name] = s.text, s.value
		}
		f.verbatim["metadata"] = read
	}
	for _, known := range []struct {
		name     string
		to       *string
		required bool
		most     int // characters
	}{
		{"name", &f.Name, true, 64},
		{"description", &f.Description, true, 1024},
		{"license", &f.License, false, 500},
		{"compatibility", &f.Compatibility, false, 500},
		{"allowed-tools", &f.AllowedTools, false, 2000},
	} {
		value, given := fields[known.name].text, f.verbatim[known.name] != nil
		delete(fields, known.name)
		switch {
		case known.required && strings.TrimSpace(value) == "":
			return Front{}, fmt.Errorf("it has no %s.", known.name)
		case given && utf8.RuneCountInString(value) > known.most:
			return Front{}, fmt.Errorf("its %s is longer than %d characters.", known.name, known.most)
		}
		*known.to = value
	}
	for name := range fields {
		return Front{}, fmt.Errorf("the field %q is not of the format. There are name, description, license, compatibility, metadata and allowed-tools.", clean(name))
	}
	return f, nil
}

// plain are the tokens of a flat list of texts. Whatever else YAML can do, from
// anchors to documents within documents, is refused before it is parsed.
var plain = map[token.Type]bool{
	token.StringType: true, token.SingleQuoteType: true, token.DoubleQuoteType: true, token.MappingValueType: true,
	token.IntegerType: true, token.FloatType: true, token.BoolType: true, token.NullType: true, token.ImplicitNullType: true,
	token.BinaryIntegerType: true, token.OctetIntegerType: true, token.HexIntegerType: true,
	token.LiteralType: true, token.FoldedType: true, token.CommentType: true, token.SpaceType: true,
}

// fieldsOf reads a block of fields, all of them text, and the one that holds
// fields of its own.
func fieldsOf(block string) (fields, metadata map[string]scalar, err error) {
	defer func() { // a library must not end the process over somebody's file
		if recover() != nil {
			fields, metadata, err = nil, nil, errors.New("its fields cannot be read.")
		}
	}()
	tokens := lexer.Tokenize(block)
	for _, t := range tokens {
		if !plain[t.Type] {
			return nil, nil, fmt.Errorf("line %d: only fields with a text each are read here.", t.Position.Line)
		}
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("its fields cannot be read: %s.", wrong(err))
	}
	fields = map[string]scalar{}
	for _, doc := range file.Docs {
		err := pairs(doc.Body, fields, func(p *ast.MappingValueNode) error {
			if key := keyOf(p); key != "metadata" || metadata != nil {
				return fmt.Errorf("the field %q must hold a text, once.", clean(key))
			}
			metadata = map[string]scalar{}
			return pairs(p.Value, metadata, func(p *ast.MappingValueNode) error {
				return fmt.Errorf("metadata: the field %q must hold a text.", clean(keyOf(p)))
			})
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return fields, metadata, nil
}

// pairs reads the texts of a mapping; other says what to do with what is none.
func pairs(n ast.Node, into map[string]scalar, other func(*ast.MappingValueNode) error) error {
	var list []*ast.MappingValueNode
	switch n := n.(type) {
	case nil:
	case *ast.MappingNode:
		list = n.Values
	case *ast.MappingValueNode:
		list = []*ast.MappingValueNode{n}
	default:
		return errors.New("it must hold fields.")
	}
	for _, p := range list {
		value, ok := scalarOf(p.Value)
		if !ok {
			if err := other(p); err != nil {
				return err
			}
			continue
		}
		key := keyOf(p)
		if _, twice := into[key]; twice {
			return fmt.Errorf("the field %q is given twice.", clean(key))
		}
		into[key] = value
	}
	return nil
}

func keyOf(p *ast.MappingValueNode) string { return p.Key.GetToken().Value }

// scalarOf is a value: as text a version stays 1.10.
func scalarOf(n ast.Node) (scalar, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return scalar{n.Value, n.Value}, true
	case *ast.LiteralNode:
		return scalar{n.Value.Value, n.Value.Value}, true
	case *ast.NullNode:
		return scalar{}, true
	case *ast.IntegerNode:
		return scalar{n.GetToken().Value, n.Value}, true
	case *ast.FloatNode:
		return scalar{n.GetToken().Value, n.Value}, true
	case *ast.BoolNode:
		return scalar{n.GetToken().Value, n.Value}, true
	}
	return scalar{}, false
}

func wrong(err error) string {
	if ye, ok := errors.AsType[yaml.Error](err); ok {
		message, _, _ := strings.Cut(ye.GetMessage(), " at [")
		return clean(message)
	}
	return "they are no YAML"
}
