package main

import (
	"context"
	"net/http"
	"path"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/domain"
)

// TestAnAgentHearsThatWhatItMayUseHasChanged: a mode that is changed in the
// console reaches a client that is connected, in either age, and its next list
// says what is so now.
func TestAnAgentHearsThatWhatItMayUseHasChanged(t *testing.T) {
	s := serving(t)
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	id := p.agent(t, "bot", "ana", "edits", nil)
	for version, mode := range map[string]string{"2026-07-28": "plan", "2025-11-25": "manual"} {
		heard := make(chan struct{}, 100)
		client := sdk.NewClient(&sdk.Implementation{Name: "listener", Version: "1"}, &sdk.ClientOptions{
			ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { heard <- struct{}{} },
		})
		session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: bearer{p.keys["bot"]}}},
			&sdk.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		before := describing(t, session)
		deadline := time.After(20 * time.Second)
		for done := false; !done; { // until its stream is open
			p.must(t, "ana", http.MethodPatch, "/agents/"+id, map[string]any{"mode": "edits"}, nil)
			p.must(t, "ana", http.MethodPatch, "/agents/"+id, map[string]any{"mode": mode}, nil)
			select {
			case <-heard:
				done = true
			case <-deadline:
				t.Fatalf("%s: it did not hear of it", version)
			default:
			}
		}
		if after := describing(t, session); after == before {
			t.Errorf("%s: the tool says %q as before", version, after)
		}
		p.must(t, "ana", http.MethodPatch, "/agents/"+id, map[string]any{"mode": "edits"}, nil)
	}
}

// describing is what the list says of publishing.
func describing(t *testing.T, s *sdk.ClientSession) string {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if tool.Name == "article_update" {
			return tool.Description
		}
	}
	t.Fatal("article_update is not listed")
	return ""
}

// TestTheReasonOfADeclineReachesTheCallThatWaits: the person says no on the
// page, and the call that waits is told why.
func TestTheReasonOfADeclineReachesTheCallThatWaits(t *testing.T) {
	s := serving(t)
	p := inProcessOf(t, s)
	p.owner(t, "ana", "home")
	p.agent(t, "bot", "ana", "edits", nil)
	p.act(t, "bot", "article.create", map[string]any{"site": "main", "slug": "menu", "title": "Menu", "body": ""})
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		client := sdk.NewClient(&sdk.Implementation{Name: "browser", Version: "1"}, &sdk.ClientOptions{
			Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}},
			ElicitationHandler: func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				go func() {
					out, err := s.desk.Decline(context.WithoutCancel(t.Context()), p.seats["ana"], path.Base(req.Params.URL), "wrong-day", "Not before Monday.")
					if err != nil || out.Outcome != commands.Done {
						t.Errorf("%v %+v", err, out)
					}
				}()
				return &sdk.ElicitResult{Action: "accept"}, nil
			},
		})
		session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: bearer{p.keys["bot"]}}},
			&sdk.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		out := callTool(t, session, "site.publish", map[string]any{"site": "main"})
		want := domain.Refuse("declined", "A person said no: “Not before Monday.” (`wrong-day`). Do what they say, or ask for something else.")
		if out.Outcome != commands.Refused || *out.Refusal != *want {
			t.Errorf("%s: %+v %v", version, out, out.Refusal)
		}
	}
}
