package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/vocab"
)

// toolResult is spelt like the library's own type, but holds plain values: that
// one writes its text and its structure anew, and checks them, at every level
// they are inside.
type toolResult struct {
	sdk.ResultBase
	Content           []said          `json:"content,omitempty"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError,omitempty"`

	// Since the protocol has no sessions.
	ResultType    string              `json:"resultType,omitempty"`
	InputRequests sdk.InputRequestMap `json:"inputRequests,omitempty"`
	RequestState  string              `json:"requestState,omitempty"`
}

// said is content that is text.
type said struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// result is an outcome as a tool's result: the outcome itself for programs,
// and all of it again in plain sentences, since some clients show their model
// nothing but text. Only a refusal and what is not known are errors: something
// that waits went as well as it could.
func (d *Door) result(ctx context.Context, a *action.Action, c commands.Call, out commands.Outcome) *toolResult {
	structured, err := vocab.Text(out)
	if err != nil {
		d.logFault(ctx, c, err)
		return d.fault(ctx, a, c, err)
	}
	return &toolResult{
		StructuredContent: structured,
		Content:           []said{{"text", d.telling(a, c, out, structured)}},
		IsError:           out.Outcome == commands.Refused || out.Outcome == commands.Unknown,
	}
}

func (d *Door) telling(a *action.Action, c commands.Call, out commands.Outcome, structured json.RawMessage) string {
	t := teller{action: a, url: d.url, commandID: commandIDOf(c.Args)}
	if out.Outcome == commands.Done && !a.Writes() {
		return t.read(structured)
	}
	return t.outcome(out)
}

// fault is the result of a call that did not come to an end. What went wrong
// is in the server's own log and never shown.
func (d *Door) fault(ctx context.Context, a *action.Action, c commands.Call, err error) *toolResult {
	switch {
	case errors.Is(err, commands.ErrBusy):
		return d.result(ctx, a, c, refusedBecause("busy", "Too much is being written at this moment; nothing was changed. Ask again in a few seconds."))
	case errors.Is(err, commands.ErrUnavailable):
		return d.result(ctx, a, c, refusedBecause("log-unavailable", "The log cannot be written at present, so nothing was changed. Reading still works; ask again later."))
	case errors.Is(err, commands.ErrUnknown):
		return d.result(ctx, a, c, commands.Outcome{Outcome: commands.Unknown})
	case commands.Away(err) && !a.Writes():
		return d.result(ctx, a, c, refusedBecause("busy", "A database does not answer just now. Ask again in a few seconds."))
	}
	res := d.result(ctx, a, c, commands.Outcome{Outcome: commands.Unknown})
	res.Content[0].Text = "Something went wrong; nothing is known to have changed.\n" + res.Content[0].Text
	return res
}

func refusedBecause(code, reason string) commands.Outcome {
	return commands.Outcome{Outcome: commands.Refused, Refusal: domain.Refuse(code, "%s", reason)}
}

func commandIDOf(args json.RawMessage) string {
	if !strings.Contains(string(args), "command_id") {
		return ""
	}
	var c struct {
		CommandID string `json:"command_id"`
	}
	if json.Unmarshal(args, &c) != nil {
		return ""
	}
	return c.CommandID
}
