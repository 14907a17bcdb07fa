package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/domain/policy"
)

// BenchmarkCall sends one raw client's calls, in turns so that all see the same
// machine, to a plain echo, to the bare library with a trivial tool, and to
// this door with a road that answers an article of 2 KiB at once; and to the
// bare library once more with a tool that answers exactly what the door does.
// The figures are CPU per call, client and server together; the ratios are
// after the echo is taken off both.
func BenchmarkCall(b *testing.B) {
	const turn = 50
	article := spring()
	article.Body = strings.Repeat("Asparagus is back. ", 108)
	read := message(`{"article":"art_1"}`)
	read = strings.Replace(strings.Replace(read, "article_update", "article_get", 1), `"params":{`, `"params":{`+ofNewAge+`,`, 1)
	out := commands.Outcome{Outcome: commands.Done, Answer: &commands.Answer{Article: article}}
	door := open(b, always(out), told(editor))
	get, _ := door.registry.Find("article.get")
	res := door.result(b.Context(), get, commands.Call{}, out)
	handlers := []http.Handler{
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }),
		bare(&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "ok"}}}),
		bare(&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: res.Content[0].Text}}, StructuredContent: res.StructuredContent}),
		door.Handler(),
	}
	servers := make([]*httptest.Server, len(handlers))
	for i, h := range handlers {
		servers[i] = httptest.NewServer(h)
		defer servers[i].Close()
	}
	used := make([]time.Duration, len(servers))
	for b.Loop() {
		for i, s := range servers {
			before := cpu(b)
			for range turn {
				callOnce(b, s.Client(), s.URL, read)
			}
			used[i] += cpu(b) - before
		}
	}
	perCall := func(i int) float64 { return float64(used[i].Microseconds()) / float64(b.N*turn) }
	echo := perCall(0)
	b.ReportMetric(echo, "echo-µs")
	b.ReportMetric(perCall(1), "bare-µs")
	b.ReportMetric(perCall(2), "same-µs")
	b.ReportMetric(perCall(3), "read-µs")
	b.ReportMetric((perCall(3)-echo)/(perCall(1)-echo), "read/bare")
	b.ReportMetric((perCall(3)-echo)/(perCall(2)-echo), "read/same")
}

// bare is the library alone, with one tool that knows its answer.
func bare(res *sdk.CallToolResult) http.Handler {
	s := sdk.NewServer(&sdk.Implementation{Name: "bare", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "article_get", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		own := *res // the library notes on it who served it
		return &own, nil
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
}

func callOnce(b *testing.B, client *http.Client, url, body string) {
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + secret,
		versionHeader: modern, "Mcp-Method": "tools/call", "Mcp-Name": "article_get",
	} {
		r.Header.Set(name, value)
	}
	res, err := client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if answer, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || bytes.Contains(answer, []byte(`"isError":true`)) {
		b.Fatalf("%d %s, %v", res.StatusCode, answer, err)
	}
}

// cpu is what this process used so far, on all cores.
func cpu(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkList is the list of all tools, from its request to its answer over
// HTTP: at most 2 ms. What counts is the best tenth, since a busy machine adds
// to the rest.
func BenchmarkList(b *testing.B) {
	door := open(b, always(commands.Outcome{}), told(Brief{Limits: commands.Limits{Mode: "edits", Scopes: policy.Scopes}}))
	server := httptest.NewServer(door.Handler())
	defer server.Close()
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + ofNewAge + `}}`
	var took []time.Duration
	before := cpu(b)
	for b.Loop() {
		began := time.Now()
		if status, _, body := post(b, server.URL, list, newAge("tools/list", "")); status != http.StatusOK || !bytes.Contains(body, []byte("site_rollback")) {
			b.Fatalf("%d %.200s", status, body)
		}
		took = append(took, time.Since(began))
	}
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(len(took)), "cpu-µs")
	slices.Sort(took)
	best := took[len(took)/10]
	b.ReportMetric(float64(best.Microseconds()), "best-µs")
	if len(took) > 20 && best > 2*time.Millisecond {
		b.Errorf("the list takes %v, more than 2ms", best)
	}
}
