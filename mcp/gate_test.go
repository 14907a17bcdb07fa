package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

// message is a call with these arguments, spelt as they are.
func message(args string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"article_update","arguments":` + args + `}}`
}

// broken are messages that mean different things to different readers.
func broken() []struct{ name, message, want string } {
	const parse, params, request = "-32700", "-32602", "-32600"
	return []struct{ name, message, want string }{
		{"a key twice", message(`{"article":"a","article":"b"}`), params},
		{"a key twice but for its case", message(`{"article":"a","Article":"b"}`), params},
		{"the method twice", `{"jsonrpc":"2.0","id":7,"method":"ping","Method":"tools/call"}`, params},
		{"a lone surrogate", message(`{"title":"\ud800"}`), params},
		{"a number beyond 2^53", message(`{"rev":9007199254740993}`), params},
		{"too deep", message(strings.Repeat(`[`, 80) + strings.Repeat(`]`, 80)), params},
		{"text that is not UTF-8", message("{\"title\":\"\xff\"}"), params},
		{"bytes after the end", message(`{}`) + `{}`, parse},
		{"a missing brace", message(`{}`)[:40], parse},
		{"a batch", `[` + message(`{}`) + `]`, request},
		{"a bare word", `true`, request},
	}
}

func TestTheGateRefusesWhatCanBeReadInTwoWays(t *testing.T) {
	for _, b := range broken() {
		t.Run(b.name, func(t *testing.T) { checkMalformed(t, gate([]byte(b.message)).answer(), b.want) })
	}
	if wrong := gate([]byte(message(`{"article":"a","title":"😀 \ud83d\ude00","rev":9007199254740991}`))); wrong != nil {
		t.Errorf("a good message was refused: %s", wrong.answer())
	}
}

// checkMalformed looks at an answer: its number, its code, a sentence, and the
// id to know it by wherever there is one.
func checkMalformed(t *testing.T, answer []byte, want string) {
	t.Helper()
	var got struct {
		ID    *int `json:"id"`
		Error struct {
			Code    json.Number `json:"code"`
			Message string      `json:"message"`
			Data    struct {
				Code string `json:"code"`
			} `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	if got.Error.Code.String() != want || got.Error.Data.Code != "malformed" || !strings.HasSuffix(got.Error.Message, ".") {
		t.Errorf("answer %s, want %s, malformed and a sentence", answer, want)
	}
	if identified := got.ID != nil && *got.ID == 7; identified != (want == "-32602") {
		t.Errorf("answer %s: wrong id", answer)
	}
}
