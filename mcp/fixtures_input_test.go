package mcp //nolint:staticcheck // some of what is shown here goes out of the protocol, and is spoken as long as clients do

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// form asks for one value.
func form(message, name, kind string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: message, RequestedSchema: map[string]any{
		"type": "object", "required": []string{name}, "properties": map[string]any{name: map[string]any{"type": kind}},
	}}
}

// accepted is what a person filled in, nil when they did not.
func accepted(answers sdk.InputResponseMap, name string) map[string]any {
	answer, ok := answers[name].(*sdk.ElicitResult)
	if !ok || answer.Action != "accept" {
		return nil
	}
	return answer.Content
}

func modelSaid(answers sdk.InputResponseMap, name string) (string, bool) {
	answer, ok := answers[name].(*sdk.CreateMessageWithToolsResult)
	if !ok {
		return "", false
	}
	for _, c := range answer.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			return t.Text, true
		}
	}
	return "", true
}

func wantsInput(state string, requests sdk.InputRequestMap) *sdk.CallToolResult {
	return &sdk.CallToolResult{InputRequests: requests, RequestState: state}
}

func askModel(prompt string) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{MaxTokens: 50, Messages: []*sdk.SamplingMessage{{Role: "user", Content: text("%s", prompt)}}}
}

// carry seals a word into a state as the door's own are, and carried reads it
// back the same way.
func (f *fixtures) carry(req *sdk.CallToolRequest, word string) string {
	return f.door.states.seal(claim{Purpose: "test", Action: req.Params.Name, Proposal: word, Until: time.Now().Add(time.Minute)})
}

func (f *fixtures) carried(req *sdk.CallToolRequest) (string, error) {
	c, no := f.door.states.open(req.Params.RequestState, claim{Purpose: "test", Action: req.Params.Name}, time.Now())
	if no != nil {
		return "", refusedMessage(no)
	}
	return c.Proposal, nil
}

// inputs are tools that answer with what they want to know first.
func (f *fixtures) inputs() {
	const about = "Asks before it answers."
	f.tool("test_input_required_result_elicitation", about, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if name, _ := accepted(req.Params.InputResponses, "user_name")["name"].(string); name != "" {
			return says(text("Hello, %s!", name)), nil
		}
		return wantsInput("", sdk.InputRequestMap{"user_name": form("What is your name?", "name", "string")}), nil
	})
	f.tool("test_input_required_result_sampling", about, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if said, ok := modelSaid(req.Params.InputResponses, "capital_question"); ok {
			return says(text("Sampling response: %s", said)), nil
		}
		return wantsInput("", sdk.InputRequestMap{"capital_question": askModel("What is the capital of France?")}), nil
	})
	f.tool("test_input_required_result_list_roots", about, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if roots, ok := req.Params.InputResponses["client_roots"].(*sdk.ListRootsResult); ok {
			return says(text("Client exposed %d root(s)", len(roots.Roots))), nil
		}
		return wantsInput("", sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}}), nil
	})
	f.tool("test_input_required_result_multiple_inputs", about, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		name, _ := accepted(req.Params.InputResponses, "user_name")["name"].(string)
		greeting, greeted := modelSaid(req.Params.InputResponses, "greeting")
		roots, rooted := req.Params.InputResponses["client_roots"].(*sdk.ListRootsResult)
		if name != "" && greeted && rooted {
			return says(text("%s %s — %d root(s) visible", greeting, name, len(roots.Roots))), nil
		}
		return wantsInput(f.carry(req, "all"), sdk.InputRequestMap{
			"user_name":    form("What is your name?", "name", "string"),
			"greeting":     askModel("Generate a greeting"),
			"client_roots": &sdk.ListRootsParams{},
		}), nil
	})
	f.tool("test_input_required_result_capabilities", about, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if len(req.Params.InputResponses) > 0 {
			return says(text("Answered.")), nil
		}
		can, requests := req.ClientCapabilities(), sdk.InputRequestMap{}
		if can != nil && can.Elicitation != nil {
			requests["user_name"] = form("What is your name?", "name", "string")
		}
		if can != nil && can.Sampling != nil {
			requests["greeting"] = askModel("Generate a short greeting")
		}
		if len(requests) == 0 {
			return says(text("There is nobody to ask.")), nil
		}
		return wantsInput("", requests), nil
	})
	f.states()
}

// states are tools that go on where they were by the state that comes back.
func (f *fixtures) states() {
	confirm := sdk.InputRequestMap{"confirm": form("Please confirm", "ok", "boolean")}
	for _, name := range []string{"test_input_required_result_request_state", "test_input_required_result_tampered_state"} {
		f.tool(name, "Goes on by a state.", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if req.Params.RequestState == "" {
				return wantsInput(f.carry(req, "asked"), confirm), nil
			}
			if _, err := f.carried(req); err != nil {
				return nil, err
			}
			if accepted(req.Params.InputResponses, "confirm") == nil {
				return wantsInput(f.carry(req, "asked"), confirm), nil
			}
			return says(text("state-ok: requestState received and confirmation accepted")), nil
		})
	}
	f.tool("test_input_required_result_multi_round", "Asks twice.", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if req.Params.RequestState == "" {
			return wantsInput(f.carry(req, "first"), sdk.InputRequestMap{"step1": form("Step 1: What is your name?", "name", "string")}), nil
		}
		at, err := f.carried(req)
		if err != nil {
			return nil, err
		}
		name, second := strings.CutPrefix(at, "second ")
		if !second {
			given := fmt.Sprint(accepted(req.Params.InputResponses, "step1")["name"])
			return wantsInput(f.carry(req, "second "+given), sdk.InputRequestMap{"step2": form("Step 2: What is your favorite color?", "color", "string")}), nil
		}
		return says(text("Multi-round complete: %s likes %v", name, accepted(req.Params.InputResponses, "step2")["color"])), nil
	})
}

// questions are tools that ask the client while they are under way, as clients
// that shook hands expect it.
func (f *fixtures) questions() {
	ask := func(name string, properties func(args json.RawMessage) (string, map[string]any)) {
		f.tool(name, "Asks a person.", func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			message, fields := properties(req.Params.Arguments)
			res, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: message, RequestedSchema: map[string]any{"type": "object", "properties": fields}})
			if err != nil {
				return nil, err
			}
			return says(text("Elicitation result: action=%s, content=%v", res.Action, res.Content)), nil
		})
	}
	ask("test_elicitation", func(args json.RawMessage) (string, map[string]any) {
		var a struct{ Message string }
		_ = json.Unmarshal(args, &a) // without a message, none is shown
		return a.Message, map[string]any{"username": map[string]any{"type": "string", "description": "Your preferred username"}}
	})
	ask("test_elicitation_sep1034_defaults", func(json.RawMessage) (string, map[string]any) {
		return "Test defaults", map[string]any{
			"name":     map[string]any{"type": "string", "description": "User name", "default": "John Doe"},
			"age":      map[string]any{"type": "integer", "description": "User age", "default": 30},
			"score":    map[string]any{"type": "number", "description": "User score", "default": 95.5},
			"status":   map[string]any{"type": "string", "description": "User status", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
			"verified": map[string]any{"type": "boolean", "description": "Verification status", "default": true},
		}
	})
	titled := []map[string]any{{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}}
	words := []string{"option1", "option2", "option3"}
	ask("test_elicitation_sep1330_enums", func(json.RawMessage) (string, map[string]any) {
		return "Test choices", map[string]any{
			"untitledSingle": map[string]any{"type": "string", "enum": words},
			"titledSingle":   map[string]any{"type": "string", "oneOf": titled},
			"legacyEnum":     map[string]any{"type": "string", "enum": []string{"opt1", "opt2", "opt3"}, "enumNames": []string{"Option One", "Option Two", "Option Three"}},
			"untitledMulti":  map[string]any{"type": "array", "minItems": 1, "maxItems": 3, "items": map[string]any{"type": "string", "enum": words}},
			"titledMulti":    map[string]any{"type": "array", "minItems": 1, "maxItems": 3, "items": map[string]any{"anyOf": titled}},
		}
	})
	f.tool("test_sampling", "Asks a model.", func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var a struct{ Prompt string }
		if err := json.Unmarshal(req.Params.Arguments, &a); err != nil {
			return nil, err
		}
		res, err := req.Session.CreateMessage(ctx, askModel(a.Prompt))
		if err != nil {
			return nil, err
		}
		said, _ := res.Content.(*sdk.TextContent)
		if said == nil {
			said = &sdk.TextContent{}
		}
		return says(text("LLM response: %s", said.Text)), nil
	})
}
