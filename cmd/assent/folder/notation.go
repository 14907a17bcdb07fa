package folder

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// decodeTOML reads a TOML table.
func decodeTOML(block string) (fields, *fieldError) {
	if line := deepTOML(block); line > 0 {
		return nil, badField(line, "fields are nested more than %d deep", maxDepth)
	}
	var table map[string]any
	if _, err := toml.Decode(block, &table); err != nil {
		var pe toml.ParseError
		if errors.As(err, &pe) {
			return nil, badField(pe.Position.Line, "%s", pe.Message)
		}
		return nil, badField(0, "%s", err)
	}
	v, err := plainTOML(table, newWeigher(), 0)
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil
}

// deepTOML gives the line on which brackets open far deeper than maxDepth, or
// 0. Brackets in texts count too, which only a text of nothing else notices.
func deepTOML(block string) int {
	for i, line := range strings.Split(block, "\n") {
		depth := 0
		for _, r := range line {
			switch r {
			case '[', '{', '.':
				depth++
			case ']', '}', ' ', '"', '\'':
				depth = 0
			}
			if depth > 2*maxDepth {
				return i + 1
			}
		}
	}
	return 0
}

// plainTOML turns what the library gives into values that JSON can hold.
func plainTOML(v any, w *weigher, depth int) (any, *fieldError) {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, one := range v {
			if err := w.add(key, depth, 0); err != nil {
				return nil, err
			}
			value, err := plainTOML(one, w, depth+1)
			if err != nil {
				return nil, err
			}
			m[key] = value
		}
		return m, nil
	case []map[string]any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = one
		}
		return plainTOML(list, w, depth)
	case []any:
		list := make([]any, 0, len(v))
		for _, one := range v {
			value, err := plainTOML(one, w, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, w.add("", depth, 0)
	}
	plain := scalarTOML(v)
	text, _ := textOf(plain)
	return plain, w.add(text, depth, 0)
}

func scalarTOML(v any) any {
	switch v := v.(type) {
	case int64:
		if !exact(v) {
			return strconv.FormatInt(v, 10)
		}
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	case time.Time:
		// The library marks what TOML calls local by the zone's name.
		switch v.Location().String() {
		case "date-local":
			return v.Format(time.DateOnly)
		case "time-local":
			return v.Format("15:04:05.999999999")
		case "datetime-local":
			return v.Format("2006-01-02T15:04:05.999999999")
		}
		return v.Format(time.RFC3339Nano)
	}
	return v
}

// isJSONObject says whether a file opens with a JSON object rather than with
// template text, which starts with a brace too.
func isJSONObject(text string) bool {
	rest, ok := strings.CutPrefix(text, "{")
	rest = strings.TrimLeft(rest, " \t\r\n")
	return ok && (strings.HasPrefix(rest, `"`) || strings.HasPrefix(rest, "}"))
}

// cutJSON splits off the object that a file opens with.
func cutJSON(text string) (block, body string, bad *fieldError) {
	dec := json.NewDecoder(strings.NewReader(text))
	var object json.RawMessage
	if err := dec.Decode(&object); err != nil {
		var se *json.SyntaxError
		if errors.As(err, &se) {
			return "", "", badField(lineAt(text, se.Offset), "%s", se)
		}
		return "", "", badField(lineAt(text, int64(len(text))), "the object is never closed")
	}
	end := dec.InputOffset()
	body = text[end:]
	if line, rest, more := cutLine(body); line == "" && more {
		body = rest
	}
	return text[:end], body, nil
}

// decodeJSON reads one object, refusing a name that is given twice.
func decodeJSON(block string) (fields, *fieldError) {
	if strings.TrimSpace(block) == "" {
		return fields{}, nil
	}
	j := jsonReader{dec: json.NewDecoder(strings.NewReader(block)), text: block, weigher: newWeigher()}
	j.dec.UseNumber()
	v, err := j.value(0)
	if err != nil {
		return nil, err
	}
	m, isObject := v.(map[string]any)
	if !isObject || strings.TrimSpace(block[j.dec.InputOffset():]) != "" {
		return nil, badField(j.line(), "it is not one object")
	}
	return m, nil
}

type jsonReader struct {
	*weigher
	dec  *json.Decoder
	text string
}

func (j *jsonReader) line() int { return lineAt(j.text, j.dec.InputOffset()) }

func (j *jsonReader) value(depth int) (any, *fieldError) {
	t, err := j.dec.Token()
	if err != nil {
		return nil, badField(j.line(), "%s", err)
	}
	switch t := t.(type) {
	case json.Delim:
		if err := j.add("", depth, j.line()); err != nil {
			return nil, err
		}
		if t == '{' {
			return j.object(depth)
		}
		return j.list(depth)
	case json.Number:
		return number(t.String()), j.add(t.String(), depth, j.line())
	case string:
		return t, j.add(t, depth, j.line())
	}
	return t, j.add("", depth, j.line())
}

func (j *jsonReader) object(depth int) (any, *fieldError) {
	m := map[string]any{}
	for j.dec.More() {
		key, err := j.value(depth + 1)
		if err != nil {
			return nil, err
		}
		name, _ := key.(string) // the decoder lets nothing else be a key
		if _, twice := m[name]; twice {
			return nil, badField(j.line(), "%q is given twice", clip(name))
		}
		if m[name], err = j.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return m, j.closed()
}

func (j *jsonReader) list(depth int) (any, *fieldError) {
	list := []any{}
	for j.dec.More() {
		v, err := j.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return slices.Clip(list), j.closed()
}

// closed reads the bracket that ends a list or an object.
func (j *jsonReader) closed() *fieldError {
	if _, err := j.dec.Token(); err != nil {
		return badField(j.line(), "%s", err)
	}
	return nil
}

// lineAt is the line, from 1, of a byte offset.
func lineAt(text string, offset int64) int {
	offset = min(max(offset, 0), int64(len(text)))
	return 1 + strings.Count(text[:offset], "\n")
}
