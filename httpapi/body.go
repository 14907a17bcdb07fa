package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"assent/domain"
	"assent/domain/action"
)

// maxBody is the most a request may carry.
const maxBody = 1 << 20

// body reads all of what was sent, within bounds, as JSON.
func body(w http.ResponseWriter, r *http.Request) (json.RawMessage, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); r.ContentLength != 0 && (err != nil || kind != "application/json") {
		return nil, domain.Refuse("malformed", "Send JSON, and say so: Content-Type: application/json.")
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
}

// read reads a body into a struct, strictly: one JSON object that means the
// same to every reader, with the fields of T and no others. No body is an
// empty object.
func read[T any](w http.ResponseWriter, r *http.Request) (v T, err error) {
	text, err := body(w, r)
	if err != nil {
		return v, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return v, nil
	}
	if err := action.Strict(text); err != nil {
		return v, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return v, misfit[T](err)
	}
	return v, nil
}

func misfit[T any](err error) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if t.Field == "" {
			return domain.Refuse("invalid", "Send an object with these fields: %s.", fields[T]())
		}
		return domain.Refuse("invalid", "`%s` cannot be a %s.", t.Field, t.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return domain.Refuse("invalid", "There is no field %s here. There are: %s.", clip(name, 60), fields[T]())
	}
	return domain.Refuse("malformed", "This could not be read: %v.", err)
}

func fields[T any]() string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

// clip shortens foreign text, and says so.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
