package action_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

func TestStrict(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := map[string]struct{ text, says string }{ // says nothing: accepted
		"an object":                  {`{"a":1,"b":[true,false,null,"x",{}],"c":{"a":{}}}`, ""},
		"a list":                     {` [ 1 , 2 ] `, ""},
		"a text":                     {`"\" \\ \/ \b \u00e9 😀"`, ""},
		"a number":                   {`-1`, ""},
		"true":                       {`true`, ""},
		"empty ones":                 {`{"a":{},"b":[],"c":""}`, ""},
		"a key twice, elsewhere":     {`[{"a":1},{"a":2},{"b":{"a":{"a":3}}}]`, ""},
		"a whole character":          {`"\ud83d\ude00"`, ""},
		"the largest number":         {`[9007199254740991,-9007199254740991]`, ""},
		"a fraction":                 {`[1.5,-0.1e-7,1E3,0,-0]`, ""},
		"deep enough":                {deep(65), ""},
		"a character that stands in": {`"\ufffd"`, ""},
		"nothing":                    {``, "complete value"},
		"spaces":                     {"  \n", "complete value"},
		"half an object":             {`{"a":`, "byte 5"},
		"two values":                 {`{} {}`, "byte 4"},
		"a comma too many":           {`[1,]`, "byte 4"},
		"a comment":                  {`{/**/}`, "byte 2"},
		"a bare word":                {`nan`, "byte 2"},
		"a leading zero":             {`01`, "byte 2"},
		"a control character":        {"\"\n\"", "byte 2"},
		"a byte order mark":          {"\ufeff{}", "byte 1"},
		"not UTF-8":                  {"\"\xff\"", "UTF-8"},
		"half UTF-8":                 {"\"\xc3\"", "UTF-8"},
		"a surrogate as bytes":       {"\"\xed\xa0\x80\"", "UTF-8"},
		"a key twice":                {`{"a":1,"a":1}`, `the top has both "a" and "a"`},
		"a key twice, escaped":       {`{"a":1,"\u0061":1}`, `both "a" and "a"`},
		"a key in two cases":         {`{"b":{"site":1,"SITE":1}}`, `/b has both "site" and "SITE"`},
		"a key with a long s":        {`{"site":1,"ſite":1}`, `both "site" and "ſite"`},
		"a key with a Kelvin sign":   {`{"key":1,"\u212aey":1}`, `both "key" and`},
		"a key in two Greek cases":   {`{"σ":1,"ς":1}`, "both"},
		"the empty key twice":        {`{"":1,"":1}`, "both"},
		"a first half":               {`{"a":["\ud83d"]}`, "/a/0 holds half of a character"},
		"a second half":              {`"\ude00"`, "half"},
		"two first halves":           {`"\ud83d\ud83d"`, "half"},
		"a half and a letter":        {`"\ud83dx"`, "half"},
		"a half and another escape":  {`"\ud83d\n"`, "half"},
		"a half in a key":            {`{"\ud83d":1}`, "half"},
		"too large a number":         {`{"n":9007199254740992}`, "/n is beyond"},
		"too small a number":         {`[0,-9007199254740992]`, "/1 is beyond"},
		"a number of many digits":    {`123456789012345678901234567890`, "beyond"},
		"a fraction without end":     {`1e400`, "cannot be kept"},
		"too deep":                   {deep(66), "nested more than 64 deep"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := action.Strict([]byte(tt.text))
			if tt.says == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			no, ok := err.(*domain.Refusal)
			if !ok || no.Code != "malformed" || !strings.Contains(no.Reason, tt.says) {
				t.Errorf("got %v, want malformed: …%s…", err, tt.says)
			}
		})
	}
	if action.Strict([]byte(deep(20000))) == nil {
		t.Error("20000 deep was accepted")
	}
}

// What comes in is not given back at length, and what it costs to read grows
// with its size and not with the product of its parts.
func TestStrictIsNotMadeToWork(t *testing.T) {
	long := strings.Repeat("k", 400_000)
	text := `{"` + long + `":[` + strings.Repeat("1,", 400_000) + `1e400]}`
	began := time.Now()
	err := action.Strict([]byte(text))
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %s", took)
	}
	if err == nil || len(err.Error()) > 300 || !strings.Contains(err.Error(), "/400000 is a number") {
		t.Errorf("says %.300v", err)
	}
	err = action.Strict([]byte(`{"` + long + `":1,"` + long + `":1}`))
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("says %.300v", err)
	}
}

// FuzzStrict: what is accepted reads as one value by encoding/json, exact
// numbers included, and written out again it is accepted and reads the same.
// Nothing makes it panic.
func FuzzStrict(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5,-3e4],"b":{"c":"\ud83d\ude00"}}`, `{"a":1,"A":2}`, `"\ud800"`, `[[[[]]]]`, `9007199254740992`, "\"\xff\"", `{} {}`,
		`{"a":"\\\"","b":"\u0041"}`, ` [ ] `, `{ "a" : { } , "b" : [ null ] }`, `-0`, `-0.0`, `1e5`, `"\u2028<>&"`, `{"ſ":1,"s":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := action.Strict(text)
		if err != nil {
			if no, ok := err.(*domain.Refusal); !ok || no.Code != "malformed" {
				t.Fatalf("%q is refused with %v", text, err)
			}
			return
		}
		value := decode(t, text)
		again, err := vocab.Text(value)
		if err != nil {
			t.Fatalf("%q cannot be written again: %v", text, err)
		}
		if err := action.Strict(again); err != nil {
			t.Fatalf("%q is accepted, and written again as %q refused: %v", text, again, err)
		}
		if second := decode(t, again); !reflect.DeepEqual(value, second) {
			t.Fatalf("%q reads as %#v, written again as %#v", text, value, second)
		}
		canonical, err := action.Canonical(json.RawMessage(text))
		if err != nil || !bytes.Equal(canonical, again) {
			t.Fatalf("%q is spelled %q and %q (%v)", text, canonical, again, err)
		}
	})
}

func decode(t *testing.T, text []byte) any {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q was accepted, but: %v", text, err)
	}
	if dec.More() {
		t.Fatalf("%q was accepted, but holds more than one value", text)
	}
	return v
}
