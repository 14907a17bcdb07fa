package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/domain"
	"assent/domain/action"
)

// maxMessage bounds one message in bytes, on every transport. The longest
// text that is kept (160 KiB) fits even when every byte of it is escaped.
const maxMessage = 1 << 20

// amiss is a message that is not let in: the no, and how the protocol says it.
type amiss struct {
	no   *domain.Refusal
	id   json.RawMessage // to answer under; nil when there is none that can be read
	code int64
}

func (a *amiss) answer() []byte { return errorAnswer(a.id, a.code, a.no) }

// gate lets through what means the same to every reader, which is nil, and says
// what is amiss with everything else. It stands before the protocol library, which would mend
// what is broken and pick one of two equal keys, so that what is shown to a
// person and what is done could differ.
func gate(message []byte) *amiss {
	if err := action.Strict(message); err != nil {
		no, meant := errors.AsType[*domain.Refusal](err)
		if !meant {
			no = domain.Refuse("malformed", "This could not be read. Correct it and send it again.")
		}
		if id := idOf(message); id != nil { // it can be read, but not in one way only
			return &amiss{no, id, jsonrpc.CodeInvalidParams}
		}
		return &amiss{no, nil, jsonrpc.CodeParseError}
	}
	if first := bytes.TrimLeft(message, " \t\r\n"); first[0] != '{' {
		return &amiss{domain.Refuse("malformed", "Send one message at a time, as an object."), nil, jsonrpc.CodeInvalidRequest}
	}
	return nil
}

// idOf is the id to answer a message under, if it has one that can be read.
func idOf(message []byte) json.RawMessage {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(message, &m) != nil {
		return nil
	}
	var id any
	if json.Unmarshal(m.ID, &id) != nil {
		return nil
	}
	switch id.(type) {
	case string, float64:
		plain, err := json.Marshal(id)
		if err != nil {
			return nil
		}
		return plain
	}
	return nil
}

// errorAnswer is a refusal as an answer of the protocol: the sentence as the
// message, the stable code beside it.
func errorAnswer(id json.RawMessage, code int64, no *domain.Refusal) []byte {
	type problem struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   problem         `json:"error"`
	}{"2.0", id, problem{code, no.Reason, stable(no.Code)}})
	if err != nil {
		panic(err) // strings and numbers only
	}
	return text
}

// stable is the data of an error: the code that programs go by.
func stable(code string) json.RawMessage {
	text, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		panic(err) // a string only
	}
	return text
}

// What a request of the new age says twice: in headers, for whoever stands
// between, and in the message, for us.
const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
)

// headersAgree holds a request of the new age to saying the same in its headers
// as in its message. What a proxy lets pass by a header is then what is done.
func headersAgree(h http.Header, message []byte) (name string, wrong *amiss) {
	var m struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
			URI  string `json:"uri"`
			Meta struct {
				Version *string `json:"io.modelcontextprotocol/protocolVersion"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if h.Get(versionHeader) < modern || json.Unmarshal(message, &m) != nil {
		return "", nil // of another shape: the library says what is wrong with it
	}
	name = m.Params.Name
	said := []struct{ header, message string }{{methodHeader, m.Method}}
	switch m.Method {
	case "tools/call", "prompts/get":
		said = append(said, struct{ header, message string }{nameHeader, name})
	case "resources/read":
		said = append(said, struct{ header, message string }{nameHeader, m.Params.URI})
	}
	if v := m.Params.Meta.Version; v != nil {
		said = append(said, struct{ header, message string }{versionHeader, *v})
	}
	for _, s := range said {
		if values := h.Values(s.header); len(values) != 1 || values[0] != s.message {
			return name, &amiss{
				domain.Refuse("malformed", "The header `%s` and the message do not say the same. Send it once, as the message has it: %q.", s.header, clip(s.message, 200)),
				idOf(message), sdk.CodeHeaderMismatch,
			}
		}
	}
	return name, nil
}
