package mcp

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"assent/domain"
	"assent/domain/action"
)

// maxMessage bounds one message in bytes, on every transport. The longest
// text that is kept (160 KiB) fits even when every byte of it is escaped.
const maxMessage = 1 << 20

// gate lets through what means the same to every reader and gives the answer
// to everything else. It stands before the protocol library, which would mend
// what is broken and pick one of two equal keys, so that what is shown to a
// person and what is done could differ.
func gate(message []byte) (answer []byte) {
	if err := action.Strict(message); err != nil {
		no, meant := errors.AsType[*domain.Refusal](err)
		if !meant {
			no = domain.Refuse("malformed", "This could not be read. Correct it and send it again.")
		}
		if id := idOf(message); id != nil { // it can be read, but not in one way only
			return errorAnswer(id, jsonrpc.CodeInvalidParams, no)
		}
		return errorAnswer(nil, jsonrpc.CodeParseError, no)
	}
	if first := bytes.TrimLeft(message, " \t\r\n"); first[0] != '{' {
		return errorAnswer(nil, jsonrpc.CodeInvalidRequest, domain.Refuse("malformed", "Send one message at a time, as an object."))
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
