package action

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"assent/domain"
	"assent/domain/vocab"
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
	Reason       string `json:"reason,omitempty" jsonschema:"why, in a sentence; kept with the change" chars:"500"`
	DryRun       bool   `json:"dry_run,omitempty" jsonschema:"show what would happen and change nothing"`
	CommandID    string `json:"command_id,omitempty" jsonschema:"your own id for this request; asking again with it gives the first answer" limit:"200"`
	ConfirmToken string `json:"confirm_token,omitempty" jsonschema:"only where the agent's owner allowed confirming" limit:"2000"`
}

// form is what the arguments of one action look like: one struct type, read
// once. Schema, check and decoding come from the same place.
type form struct {
	schema json.RawMessage
	fields map[string]field // the action's own
	common map[string]field // of every write
	decode func(json.RawMessage) (any, error)
}

// formOf reads a form off an argument type. It panics on one that cannot be
// described or checked: a bug in a declaration, found at start-up.
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
		panic(fmt.Sprintf("arguments %T: %v", *new(A), err))
	}
	if writes {
		f.common = fieldsOf(reflect.TypeFor[Common]())
		join[A](s)
	}
	for name, f := range f.all() {
		if s.Properties[name] == nil {
			panic(fmt.Sprintf("arguments %T: the schema does not show %s", *new(A), name))
		}
		f.bound(s.Properties[name])
	}
	if f.schema, err = json.Marshal(s); err != nil {
		panic(err)
	}
	return f
}

// join adds to a schema what every write takes.
func join[A any](s *jsonschema.Schema) {
	common, err := jsonschema.For[Common](nil)
	if err != nil {
		panic(err)
	}
	for name := range common.Properties {
		if _, twice := s.Properties[name]; twice {
			panic(fmt.Sprintf("arguments %T: every write takes %s already", *new(A), name))
		}
	}
	maps.Copy(s.Properties, common.Properties)
	s.PropertyOrder = append(s.PropertyOrder, common.PropertyOrder...)
}

// all is every argument by name.
func (f form) all() map[string]field {
	all := maps.Clone(f.fields)
	maps.Copy(all, f.common)
	return all
}

// Parse reads arguments strictly. Every fault that can be seen is named in one
// refusal, so that a call can be mended in one try.
func (a *Action) Parse(raw json.RawMessage) (Command, error) {
	if text := bytes.TrimSpace(raw); len(text) == 0 || string(text) == "null" {
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
		return Command{}, domain.Refuse("invalid", "%s: %s.", a.Name, sentence(faults))
	}
	own, common := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for name, value := range parts {
		if isNull(value) {
			continue // null and left out are the same, also under a command id
		}
		if _, ok := a.form.common[name]; ok {
			common[name] = value
		} else {
			own[name] = value
		}
	}
	var c Command
	if err := a.form.read(own, common, &c); err != nil {
		return Command{}, domain.Refuse("invalid", "%s: %s.", a.Name, err)
	}
	if checked, ok := c.Args.(interface{ Check() error }); ok {
		if err := checked.Check(); err != nil {
			return Command{}, err
		}
	}
	return c, nil
}

func (f form) read(own, common map[string]json.RawMessage, c *Command) error {
	if len(common) > 0 {
		text, err := json.Marshal(common)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &c.Common); err != nil {
			return err
		}
	}
	var err error
	if c.Raw, err = Canonical(own); err != nil {
		return err
	}
	sum := sha256.Sum256(c.Raw)
	c.Digest = hex.EncodeToString(sum[:16])
	c.Args, err = f.decode(c.Raw)
	return err
}

// Canonical spells a value as JSON in one way: keys sorted, numbers as they
// came. What is compared, filed and run again is always spelt so.
func Canonical(value any) (json.RawMessage, error) {
	text, err := vocab.Text(value)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return vocab.Text(v)
}

func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}
