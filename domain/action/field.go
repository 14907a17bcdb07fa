package action

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// defaultLimit bounds any text that does not say otherwise, in bytes.
const defaultLimit = 4 << 10

// field is one named argument.
type field struct {
	shape
	name     string
	required bool
}

// shape is what a value must look like. The schema says it to programs, faults
// says in words where a value is not so; both go all the way down.
type shape struct {
	kind   reflect.Kind     // String, Bool, Int, Float64, Slice, Struct or Map
	limit  int              // bytes of text, or of JSON for anything else; 0: none of its own
	time   bool             // of text: a moment, as RFC 3339 writes it
	chars  int              // characters of text, where people count those; 0: not counted
	enum   []string         // the words allowed
	item   *shape           // of a list
	fields map[string]field // of an object whose names are known
}

// fieldsOf reads the fields of a struct type, those of embedded ones included.
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
		f := field{name: name, required: options == "", shape: shapeOf(sf.Type)}
		if tag := sf.Tag.Get("limit"); tag != "" {
			f.limit, _ = strconv.Atoi(tag)
		}
		if tag := sf.Tag.Get("chars"); tag != "" {
			f.chars, _ = strconv.Atoi(tag)
		}
		if words := sf.Tag.Get("enum"); words != "" {
			f.enum = strings.Split(words, ",")
		}
		fields[name] = f
	}
	return fields
}

func shapeOf(t reflect.Type) shape {
	if t == reflect.TypeFor[time.Time]() {
		return shape{kind: reflect.String, time: true, limit: 64}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return shapeOf(t.Elem())
	case reflect.String:
		return shape{kind: reflect.String, limit: defaultLimit}
	case reflect.Int, reflect.Int64:
		return shape{kind: reflect.Int}
	case reflect.Bool, reflect.Float64, reflect.Map:
		return shape{kind: t.Kind()}
	case reflect.Slice:
		return shape{kind: reflect.Slice, item: new(shapeOf(t.Elem()))}
	case reflect.Struct:
		return shape{kind: reflect.Struct, fields: fieldsOf(t)}
	}
	panic(fmt.Sprintf("no argument can be a %s", t))
}

// bound says in the schema what faults checks.
func (s shape) bound(p *jsonschema.Schema) {
	if len(p.Types) == 2 && p.Types[0] == "null" { // left out and null are the same, so only one is advertised
		p.Type, p.Types = p.Types[1], nil
	}
	if s.kind == reflect.String {
		p.MaxLength = jsonschema.Ptr(cmp.Or(s.chars, s.limit))
	}
	if s.time {
		p.Format = "date-time"
	}
	for _, word := range s.enum {
		p.Enum = append(p.Enum, word)
	}
	if s.item != nil {
		s.item.bound(p.Items)
	}
	for name, f := range s.fields {
		f.bound(p.Properties[name])
	}
}

func (f form) faults(parts map[string]json.RawMessage) []string {
	return faultsOf(f.all(), f.fields, parts, "")
}

// faultsOf lists what is wrong with an object of named values: first what it
// holds, then what it lacks, by name. In a hint only the offered names appear.
func faultsOf(fields, offered map[string]field, parts map[string]json.RawMessage, in string) []string {
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		f, known := fields[name]
		switch {
		case !known:
			faults = append(faults, fmt.Sprintf("there is no argument `%s%s`%s", in, clip(name), nearest(fields, offered, name)))
		case !isNull(parts[name]):
			faults = append(faults, f.faults(in+name, parts[name])...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if value, given := parts[name]; fields[name].required && (!given || isNull(value)) {
			faults = append(faults, fmt.Sprintf("`%s%s` is missing", in, name))
		}
	}
	return faults
}

// faults lists what is wrong with the value at a place.
func (s shape) faults(place string, value json.RawMessage) []string {
	var text string
	var items []json.RawMessage
	var parts map[string]json.RawMessage
	var err error
	size, must := len(value), ""
	switch s.kind {
	case reflect.String:
		err, must = json.Unmarshal(value, &text), "text"
		size = len(text)
	case reflect.Bool:
		_, err = strconv.ParseBool(string(value)) // of what JSON allows, true and false alone
		must = "true or false"
	case reflect.Int:
		_, err = strconv.Atoi(string(value))
		must = "a whole number"
	case reflect.Float64:
		_, err = strconv.ParseFloat(string(value), 64)
		must = "a number"
	case reflect.Slice:
		err, must = json.Unmarshal(value, &items), "a list"
	default:
		err, must = json.Unmarshal(value, &parts), "an object"
	}
	switch {
	case err != nil || isNull(value):
		return []string{fmt.Sprintf("`%s` must be %s", place, must)}
	case s.limit > 0 && size > s.limit:
		return []string{fmt.Sprintf("`%s` is %d bytes long; at most %d are kept", place, size, s.limit)}
	case s.chars > 0 && utf8.RuneCountInString(text) > s.chars:
		return []string{fmt.Sprintf("`%s` is %d characters long; at most %d are kept", place, utf8.RuneCountInString(text), s.chars)}
	case s.enum != nil && !slices.Contains(s.enum, text):
		return []string{fmt.Sprintf("`%s` must be one of %s", place, strings.Join(s.enum, ", "))}
	case s.time && !moment(text):
		return []string{fmt.Sprintf("`%s` must be a time, as in 2026-12-31T00:00:00Z", place)}
	case s.kind == reflect.Struct:
		return faultsOf(s.fields, s.fields, parts, place+".")
	}
	var faults []string
	for i, item := range items {
		faults = append(faults, s.item.faults(fmt.Sprintf("%s[%d]", place, i), item)...)
	}
	return faults
}

// moment says that a text is a time of the years that logs are about.
func moment(text string) bool {
	t, err := time.Parse(time.RFC3339, text)
	return err == nil && t.UTC().Year() >= 2000 && t.UTC().Year() <= 9999
}

// nearest offers the argument that was probably meant.
func nearest(fields, offered map[string]field, name string) string {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	for _, known := range slices.Sorted(maps.Keys(fields)) {
		if plain(known) == plain(name) {
			return fmt.Sprintf(" (did you mean `%s`?)", known)
		}
	}
	if len(offered) == 0 {
		return "; it takes none"
	}
	return "; it takes " + strings.Join(slices.Sorted(maps.Keys(offered)), ", ")
}

// mostFaults is how many faults one refusal names: a caller is told, not
// flooded with what it sent.
const mostFaults = 12

func sentence(faults []string) string {
	if more := len(faults) - mostFaults; more > 0 {
		faults = append(faults[:mostFaults:mostFaults], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(faults, "; ")
}

func isNull(value json.RawMessage) bool { return string(value) == "null" }
