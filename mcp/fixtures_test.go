package mcp //nolint:staticcheck // some of what is shown here goes out of the protocol, and is spoken as long as clients do

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The official suite looks for things of its own making: tools, jobs and
// resources that show each part of the protocol. They are in tests alone, so no
// program that is built has them, and they stand behind the same door: its
// hosts, keys and gate, both of its ages, its notices and the signer of its
// states.

// showing puts the suite's things behind a door, in place of the real ones.
func showing(t *testing.T, d *Door) {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "assent", Version: d.version}, &sdk.ServerOptions{
		SetCacheable:       func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { *c = kept },
		CompletionHandler:  func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) { return completion(nil), nil },
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})
	f := &fixtures{door: d, server: s}
	f.contents()
	f.notices()
	f.inputs()
	f.questions()
	f.resources()
	f.jobs()
	s.AddReceivingMiddleware(d.recovered, identified(keyHolder), d.welcomed(s))
	s.AddSendingMiddleware(d.addressed)
	d.server = s
}

type fixtures struct {
	door   *Door
	server *sdk.Server
}

// tool adds a tool that takes anything.
func (f *fixtures) tool(name, about string, h sdk.ToolHandler) {
	f.toolOf(name, about, `{"type":"object"}`, h)
}

func (f *fixtures) toolOf(name, about, schema string, h sdk.ToolHandler) {
	f.server.AddTool(&sdk.Tool{Name: name, Description: about, InputSchema: json.RawMessage(schema)}, h)
}

func says(content ...sdk.Content) *sdk.CallToolResult { return &sdk.CallToolResult{Content: content} }

func text(format string, args ...any) sdk.Content {
	return &sdk.TextContent{Text: fmt.Sprintf(format, args...)}
}

func always64(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// The smallest picture and the smallest sound.
var (
	dot     = always64("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	silence = always64("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

func (f *fixtures) contents() {
	embedded := &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource"}}
	picture := &sdk.ImageContent{Data: dot, MIMEType: "image/png"}
	for _, t := range []struct {
		name    string
		content []sdk.Content
	}{
		{"test_simple_text", []sdk.Content{text("This is a simple text response for testing.")}},
		{"test_image_content", []sdk.Content{picture}},
		{"test_audio_content", []sdk.Content{&sdk.AudioContent{Data: silence, MIMEType: "audio/wav"}}},
		{"test_embedded_resource", []sdk.Content{embedded}},
		{"test_multiple_content_types", []sdk.Content{text("This is text content"), picture, embedded}},
		{"test_streaming_elicitation", []sdk.Content{text("Nothing is asked on this stream.")}},
		{"test_reconnection", []sdk.Content{text("Nothing was cut.")}},
	} {
		f.tool(t.name, "Answers with contents of one kind.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return says(t.content...), nil
		})
	}
	f.tool("test_error_handling", "Always fails.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res := &sdk.CallToolResult{}
		res.SetError(errors.New("this tool intentionally returns an error for testing"))
		return res, nil
	})
	f.toolOf("test_x_mcp_header", "Takes an argument that is also a header.", `{"type":"object","properties":{
		"region":{"type":"string","description":"mirrored","x-mcp-header":"Region"},"level":{"type":"integer","description":"not mirrored"}}}`,
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return says(text("%s", req.Params.Arguments)), nil
		})
	f.toolOf("json_schema_2020_12_tool", "Has a schema with everything.", `{
		"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
		"additionalProperties":false}`,
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return says(text("%s", req.Params.Arguments)), nil
		})
}

func (f *fixtures) notices() {
	f.tool("test_tool_with_logging", "Logs on its way.", func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: line}); err != nil {
				return nil, err
			}
		}
		return says(text("Tool with logging executed successfully")), nil
	})
	f.tool("test_logging_tool", "Logs if the caller wants it.", func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return says(text("Logged.")), req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: "executed"})
	})
	f.tool("test_tool_with_progress", "Tells how far it is.", func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		token := req.Params.GetProgressToken()
		for _, done := range []float64{0, 50, 100} {
			err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100, Message: fmt.Sprintf("Completed step %.0f of 100", done)})
			if err != nil {
				return nil, err
			}
		}
		return says(text("%v", token)), nil
	})
	for name, notice := range map[string]string{"test_trigger_tool_change": toolsChanged, "test_trigger_prompt_change": promptsChanged} {
		f.tool(name, "Has everybody told that a list has changed.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			f.door.audience.changed(func(Caller) bool { return true }, notice)
			return says(text("Told.")), nil
		})
	}
	f.tool("test_missing_capability", "Needs a client that lends its model.", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if can := req.ClientCapabilities(); can != nil && can.Sampling != nil {
			return says(text("It can.")), nil
		}
		data, err := json.Marshal(map[string]any{"requiredCapabilities": map[string]any{"sampling": map[string]any{}}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "This needs a client that lends its model.", Data: data}
	})
}

func (f *fixtures) resources() {
	add := func(name, uri, media string, content sdk.ResourceContents) {
		f.server.AddResource(&sdk.Resource{Name: name, Description: "A resource for testing.", MIMEType: media, URI: uri},
			func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				content.URI, content.MIMEType = uri, media
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{&content}}, nil
			})
	}
	add("static-text", "test://static-text", "text/plain", sdk.ResourceContents{Text: "This is the content of the static text resource."})
	add("static-binary", "test://static-binary", "image/png", sdk.ResourceContents{Blob: dot})
	add("watched-resource", "test://watched-resource", "text/plain", sdk.ResourceContents{Text: "Watched resource content"})
	f.server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "template", Description: "A resource with a name in its address.", MIMEType: "application/json", URITemplate: "test://template/{id}/data"},
		func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			data := fmt.Sprintf(`{"id": %q, "templateTest": true, "data": "Data for ID: %s"}`, id, id)
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: data}}}, nil
		})
}

func (f *fixtures) jobs() {
	add := func(name string, args []*sdk.PromptArgument, content func(map[string]string) []sdk.Content) {
		f.server.AddPrompt(&sdk.Prompt{Name: name, Title: name, Description: "A job for testing.", Arguments: args},
			func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
				res := &sdk.GetPromptResult{Description: "A job for testing."}
				for _, c := range content(req.Params.Arguments) {
					res.Messages = append(res.Messages, &sdk.PromptMessage{Role: "user", Content: c})
				}
				return res, nil
			})
	}
	needs := func(names ...string) (args []*sdk.PromptArgument) {
		for _, n := range names {
			args = append(args, &sdk.PromptArgument{Name: n, Description: "An argument for testing.", Required: true})
		}
		return args
	}
	add("test_simple_prompt", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{text("This is a simple prompt for testing.")}
	})
	add("test_prompt_with_arguments", needs("arg1", "arg2"), func(a map[string]string) []sdk.Content {
		return []sdk.Content{text("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])}
	})
	add("test_prompt_with_embedded_resource", needs("resourceUri"), func(a map[string]string) []sdk.Content {
		r := &sdk.ResourceContents{URI: a["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}
		return []sdk.Content{&sdk.EmbeddedResource{Resource: r}, text("Please process the embedded resource above.")}
	})
	add("test_prompt_with_image", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{&sdk.ImageContent{Data: dot, MIMEType: "image/png"}, text("Please analyze the image above.")}
	})
	f.server.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "A job that asks first."},
		func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			given := accepted(req.Params.InputResponses, "user_context")
			if given == nil {
				return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": form("Please provide context for the prompt", "context", "string")}}, nil
			}
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: text("Context: %v", given["context"])}}}, nil
		})
}
