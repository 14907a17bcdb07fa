package action

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"assent/domain"
)

// Command is one call's arguments, read and checked, apart from what every
// write may say about itself.
type Command struct {
	Args   any
	Raw    json.RawMessage // the action's own arguments, in canonical spelling
	Digest string          // of Raw: asking again under a command id must ask for the same
	Common
}

// Common is what every write takes beside its own arguments.
type Common struct {
	Reason       string `json:"reason,omitempty" jsonschema:"why, in a sentence; kept with the change" limit:"500"`
	DryRun       bool   `json:"dry_run,omitempty" jsonschema:"show what would happen and change nothing"`
	CommandID    string `json:"command_id,omitempty" jsonschema:"your own id for this request; asking again with it gives the first answer" limit:"200"`
	ConfirmToken string `json:"confirm_token,omitempty" jsonschema:"only where the agent's owner allowed confirming" limit:"2000"`
}

// form is what the arguments of one action look like: one struct type, read
// once. Schema, check and decoding come from the same place.
type form struct {
	schema json.RawMessage
	fields map[string]field
	common map[string]field
	decode func(json.RawMessage) (any, error)
}

type field struct {
	name     string
	required bool
	limit    int      // bytes of text, or of JSON for anything else; 0: the default
	enum     []string // the words allowed
	text     bool
}

// defaultLimit bounds any text that does not say otherwise.
const defaultLimit = 4 << 10

func formOf[A any](writes bool) form {
	f := form{
		fields: fieldsOf(reflect.TypeFor[A]()),
		common: map[string]field{},
		decode: func(raw json.RawMessage) (any, error) {
			var a A
			err := json.Unmarshal(raw, &a)
			return a, err
		},
	}
	s, err := jsonschema.For[A](nil)
	if err != nil {
		panic(fmt.Sprintf("arguments %T: %v", *new(A), err)) // a declaration that cannot be described is a bug
	}
	if writes {
		c, err := jsonschema.For[Common](nil)
		if err != nil {
			panic(err)
		}
		f.common = fieldsOf(reflect.TypeFor[Common]())
		maps.Copy(s.Properties, c.Properties)
		s.PropertyOrder = append(s.PropertyOrder, c.PropertyOrder...)
	}
	for name, p := range s.Properties {
		bound(p, cmpOr(f.fields[name], f.common[name]))
	}
	if f.schema, err = json.Marshal(s); err != nil {
		panic(err)
	}
	return f
}

func cmpOr(a, b field) field {
	if a.name != "" {
		return a
	}
	return b
}

// bound says in the schema what read will check.
func bound(p *jsonschema.Schema, f field) {
	if f.text {
		p.MaxLength = jsonschema.Ptr(f.limit)
	}
	for _, word := range f.enum {
		p.Enum = append(p.Enum, word)
	}
	if len(p.Types) == 2 && p.Types[0] == "null" { // a pointer: left out and null are the same, so only one is advertised
		p.Type, p.Types = p.Types[1], nil
	}
}

func fieldsOf(t reflect.Type) map[string]field {
	fields := map[string]field{}
	for i := range t.NumField() {
		sf := t.Field(i)
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if sf.Anonymous && name == "" {
			maps.Copy(fields, fieldsOf(sf.Type))
			continue
		}
		kind := sf.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		f := field{name: name, required: options == "", limit: defaultLimit, text: kind.Kind() == reflect.String}
		if tag := sf.Tag.Get("limit"); tag != "" {
			f.limit, _ = strconv.Atoi(tag)
		} else if !f.text {
			f.limit = 0
		}
		if words := sf.Tag.Get("enum"); words != "" {
			f.enum = strings.Split(words, ",")
		}
		fields[name] = f
	}
	return fields
}

// Parse reads arguments strictly. Every fault that can be seen is named in one
// refusal, so that a call can be mended in one try.
func (a *Action) Parse(raw json.RawMessage) (Command, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	if err := Strict(raw); err != nil {
		return Command{}, err
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil || parts == nil {
		return Command{}, domain.Refuse("invalid", "The arguments of %s must be an object of named values.", a.Name)
	}
	if faults := a.form.faults(parts); len(faults) > 0 {
		return Command{}, domain.Refuse("invalid", "%s: %s.", a.Name, strings.Join(faults, "; "))
	}
	own, common := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for name, value := range parts {
		if _, ok := a.form.common[name]; ok {
			common[name] = value
		} else {
			own[name] = value
		}
	}
	var c Command
	if err := a.form.read(own, common, &c); err != nil {
		return Command{}, domain.Refuse("invalid", "%s: %s.", a.Name, wording(err))
	}
	if checked, ok := c.Args.(interface{ Check() error }); ok {
		if err := checked.Check(); err != nil {
			return Command{}, err
		}
	}
	return c, nil
}

func (f form) read(own, common map[string]json.RawMessage, c *Command) error {
	text, err := json.Marshal(common)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &c.Common); err != nil {
		return err
	}
	if c.Raw, err = Canonical(own); err != nil {
		return err
	}
	sum := sha256.Sum256(c.Raw)
	c.Digest = hex.EncodeToString(sum[:16])
	c.Args, err = f.decode(c.Raw)
	return err
}

func (f form) faults(parts map[string]json.RawMessage) []string {
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		known := cmpOr(f.fields[name], f.common[name])
		if known.name == "" {
			faults = append(faults, fmt.Sprintf("there is no argument `%s`%s", clip(name), f.nearest(name)))
			continue
		}
		if fault := known.fault(parts[name]); fault != "" {
			faults = append(faults, fault)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.fields)) {
		if _, given := parts[name]; f.fields[name].required && !given {
			faults = append(faults, fmt.Sprintf("`%s` is missing", name))
		}
	}
	return faults
}

func (f field) fault(value json.RawMessage) string {
	if string(value) == "null" {
		if f.required {
			return fmt.Sprintf("`%s` is missing", f.name)
		}
		return ""
	}
	if !f.text {
		if f.limit > 0 && len(value) > f.limit {
			return fmt.Sprintf("`%s` is %d bytes long; at most %d are kept", f.name, len(value), f.limit)
		}
		return ""
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return fmt.Sprintf("`%s` must be text", f.name)
	}
	if len(s) > f.limit {
		return fmt.Sprintf("`%s` is %d bytes long; at most %d are kept", f.name, len(s), f.limit)
	}
	if f.enum != nil && !slices.Contains(f.enum, s) {
		return fmt.Sprintf("`%s` must be one of %s", f.name, strings.Join(f.enum, ", "))
	}
	return ""
}

// nearest offers the argument that was probably meant.
func (f form) nearest(name string) string {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	for _, known := range slices.Sorted(maps.Keys(f.fields)) {
		if plain(known) == plain(name) {
			return fmt.Sprintf(" (did you mean `%s`?)", known)
		}
	}
	return fmt.Sprintf("; it takes %s", strings.Join(slices.Sorted(maps.Keys(f.fields)), ", "))
}

func wording(err error) string {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("`%s` must be %s, not a %s", t.Field, plainType(t.Type), t.Value)
	}
	return err.Error()
}

func plainType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a whole number"
}

// Canonical spells a value as JSON in one way: keys sorted, numbers as they
// came. What is compared, filed and run again is always spelt so.
func Canonical(value any) (json.RawMessage, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}
