// Package clients is how the programs that people have are told of a server:
// what to paste where, over HTTP with a key or as a process on standard input
// and output. No entry holds a key.
package clients

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Placeholder is where the key goes. Programs that know variables put in what
// the environment has; elsewhere people put the key there.
const Placeholder = "${ASSENT_KEY}"

// Server is what is to be connected.
type Server struct {
	URL     string // where agents call: https://assent.example/mcp
	Program string // this program on its own machine; empty: only over HTTP
	Data    string // the data folder there
	Agent   string // the agent's id, for a local process that works as it
}

// The ways to connect.
const (
	HTTP  = "http"
	Stdio = "stdio"
)

// Entry is what to paste.
type Entry struct {
	Client string `json:"client"` // desktop, editor, cli, inspector or generic
	Title  string `json:"title"`
	Over   string `json:"over"` // http or stdio
	Where  string `json:"where"`
	Text   string `json:"text"`
}

// Names are the clients there are entries for.
var Names = []string{"generic", "desktop", "editor", "cli", "inspector"}

// settings is a file with one server in it.
type settings struct {
	Inputs  []input          `json:"inputs,omitempty"`
	Servers map[string]reach `json:"servers,omitempty"`
	Common  map[string]reach `json:"mcpServers,omitempty"` // as most programs call it
}

// input is what an editor asks for.
type input struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	Description string `json:"description"`
	Password    bool   `json:"password"`
}

// reach is how one server is reached.
type reach struct {
	Type    string            `json:"type,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

func bearer(key string) map[string]string { return map[string]string{"Authorization": "Bearer " + key} }

// Entries are those of every client, in order.
func (s Server) Entries() []Entry {
	list := []Entry{
		{"generic", "Most clients", HTTP, "the client's settings, such as .mcp.json", common(reach{Type: "http", URL: s.URL, Headers: bearer(Placeholder)})},
		{"desktop", "A desktop app", HTTP, "claude_desktop_config.json, through mcp-remote; the app fills in nothing, so put the key in yourself", common(reach{
			Command: "npx", Args: []string{"-y", "mcp-remote", s.URL, "--header", "Authorization:${ASSENT_HEADER}"}, // a space would split it on some systems
			Env: map[string]string{"ASSENT_HEADER": "Bearer " + Placeholder},
		})},
		{"editor", "An editor", HTTP, ".vscode/mcp.json; the editor asks for the key once and keeps it", written(settings{
			Inputs:  []input{{"promptString", "ASSENT_KEY", "The agent's key", true}},
			Servers: map[string]reach{"assent": {Type: "http", URL: s.URL, Headers: bearer("${input:ASSENT_KEY}")}},
		})},
		{"cli", "A command line", HTTP, "a shell that has ASSENT_KEY", shell("claude", "mcp", "add", "--transport", "http", "assent", s.URL, "--header", "Authorization: Bearer "+Placeholder)},
		{"inspector", "The inspector", HTTP, "a shell that has ASSENT_KEY", shell("npx", "-y", "@modelcontextprotocol/inspector", "--cli", s.URL, "--transport", "http", "--header", "Authorization: Bearer "+Placeholder, "--method", "tools/list")},
	}
	if s.Program == "" {
		return list
	}
	args := []string{"mcp", "--data", s.Data}
	if s.Agent != "" {
		args = append(args, "--agent", s.Agent)
	}
	line := append([]string{s.Program}, args...)
	const there = " on the server's own machine"
	return append(list,
		Entry{"generic", "Most clients", Stdio, "the client's settings, such as .mcp.json," + there, common(reach{Command: s.Program, Args: args})},
		Entry{"desktop", "A desktop app", Stdio, "claude_desktop_config.json" + there, common(reach{Command: s.Program, Args: args})},
		Entry{"editor", "An editor", Stdio, ".vscode/mcp.json" + there, written(settings{Servers: map[string]reach{"assent": {Type: "stdio", Command: s.Program, Args: args}}})},
		Entry{"cli", "A command line", Stdio, "a shell" + there, shell(append([]string{"claude", "mcp", "add", "assent", "--"}, line...)...)},
		Entry{"inspector", "The inspector", Stdio, "a shell" + there, shell(append(append([]string{"npx", "-y", "@modelcontextprotocol/inspector", "--cli"}, line...), "--method", "tools/list")...)},
	)
}

func common(r reach) string { return written(settings{Common: map[string]reach{"assent": r}}) }

func written(file settings) string {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // it is to be read
	enc.SetIndent("", "  ")
	_ = enc.Encode(file) // texts, lists and maps of texts always can be
	return strings.TrimSpace(text.String())
}

// shell is a line for a shell: each word is one word there, whatever is in it,
// but for the key, which is put in.
func shell(words ...string) string {
	for i, w := range words {
		words[i] = quote(w)
	}
	return strings.Join(words, " ")
}

// plain needs no quotes, and easy only double ones.
const (
	plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@=,+%"
	easy  = plain + " ?&#;()<>|*~[]'"
)

func quote(w string) string {
	before, after, has := strings.Cut(w, Placeholder)
	switch {
	case has && strings.Trim(before+after, easy) == "":
		return `"` + w + `"`
	case has:
		return quoted(before) + `"` + Placeholder + `"` + quoted(after)
	case w != "" && strings.Trim(w, plain) == "":
		return w
	}
	return quoted(w)
}

func quoted(w string) string { return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'" }
