package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"os"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/cmd/assent/demosite"
	"assent/commands"
	"assent/domain"
	"assent/httpapi"
)

// demoCmd plays the whole story with a real client over HTTP, in a folder and
// on a port of its own. Nothing is left running and nothing is left behind.
type demoCmd struct {
	Content string `help:"Your own folder of Markdown; a small site of ours when left out." type:"existingdir"`
}

// Run plays it and says what happened at each step.
func (c *demoCmd) Run(e *env) error {
	dir, err := os.MkdirTemp("", "assent-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	files := fs.FS(demosite.FS)
	if c.Content != "" {
		root, err := os.OpenRoot(c.Content)
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		files = root.FS()
	}
	serving := &serveCmd{Listen: "127.0.0.1:0", Workspaces: []string{defaultWorkspace}}
	s, err := serving.open(e.ctx, plan{dir: dir})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(e.ctx)
	served := make(chan error, 1)
	go func() { served <- s.serve(ctx) }()
	d := &demo{out: e.out, server: s, files: files, dir: dir}
	err = d.play(ctx)
	stop()
	return errors.Join(err, <-served, s.Close())
}

// demo is one performance.
type demo struct {
	out    io.Writer
	server *server
	files  fs.FS
	dir    string
	n      int

	person  *http.Client
	agent   *sdk.ClientSession
	article string // that the agent wrote
	held    commands.Held
	edit    domain.ID
}

func (d *demo) play(ctx context.Context) error {
	steps := []struct {
		name string
		do   func(context.Context) (string, error)
	}{
		{"import", d.importSite},
		{"set up", d.setUp},
		{"connect", d.connect},
		{"read", d.read},
		{"write", d.write},
		{"publish", d.publish},
		{"approve", d.approve},
		{"edit", d.editTitle},
		{"undo", d.undo},
		{"audit", d.audit},
	}
	defer func() {
		if d.agent != nil {
			_ = d.agent.Close()
		}
	}()
	for i, s := range steps {
		says, err := s.do(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		first, rest, _ := strings.Cut(says, "\n")
		fmt.Fprintf(d.out, "%d/%d %-8s %s\n", i+1, len(steps), s.name, first)
		for line := range strings.Lines(rest) {
			fmt.Fprintf(d.out, "             %s\n", strings.TrimRight(line, "\n"))
		}
	}
	_, err := fmt.Fprintln(d.out, "demo: ok")
	return err
}

// importSite takes the folder in through the server's socket, as the command
// line does on a served folder.
func (d *demo) importSite(ctx context.Context) (string, error) {
	at, err := enter(ctx, d.dir, stores{}, true)
	if err != nil {
		return "", err
	}
	r, err := importFolder(ctx, at, localCaller{}, "main", d.files, func(int, int) {})
	if err = errors.Join(err, at.Close()); err != nil {
		return "", err
	}
	if len(r.Refused) > 0 {
		return "", fmt.Errorf("%s was refused: %w", r.Refused[0].File, r.Refused[0].Refusal)
	}
	says := fmt.Sprintf("done     %d articles and %d pages are in the draft", r.Articles, r.Pages)
	for _, code := range slices.Sorted(maps.Keys(r.counts)) {
		says += fmt.Sprintf("\nskipped  %d %s", r.counts[code], code)
	}
	return says, nil
}

// setUp opens the printed link as its owner would.
func (d *demo) setUp(ctx context.Context) (string, error) {
	var printed bytes.Buffer
	if err := d.server.greet(ctx, &printed); err != nil {
		return "", err
	}
	_, token, ok := strings.Cut(printed.String(), "/setup?t=")
	if !ok {
		return "", errors.New("no set-up link was printed")
	}
	token, _, _ = strings.Cut(token, "\n")
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	d.person = &http.Client{Jar: jar}
	err = d.post(ctx, "POST", "/setup", map[string]any{
		"token": token, "name": "The owner", "email": "owner@example.org", "password": "correct horse battery",
	}, nil)
	return "done     a person opened the printed link and is the owner", err
}

// connect makes an agent and a key, and opens a real client with it.
func (d *demo) connect(ctx context.Context) (string, error) {
	var made struct{ ID, Key string }
	if err := d.post(ctx, "POST", "/agents", map[string]any{"name": "Scribe", "mode": "edits"}, &made); err != nil {
		return "", err
	}
	if err := d.post(ctx, "POST", "/agents/"+made.ID+"/keys", map[string]any{}, &made); err != nil {
		return "", err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "assent-demo", Version: version}, nil)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint:   d.server.url + "/mcp",
		HTTPClient: &http.Client{Transport: bearer{made.Key}},
	}, nil)
	if err != nil {
		return "", err
	}
	d.agent = session
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("done     an agent in edits mode sees %d tools, and none that approves", len(tools.Tools)), nil
}

// read lists what is there and opens an article.
func (d *demo) read(ctx context.Context) (string, error) {
	type item struct{ ID, Title, Status string }
	var items []item
	for cursor := ""; ; {
		list, err := d.call(ctx, "article_list", map[string]any{"site": "main", "limit": 100, "cursor": cursor})
		if err != nil {
			return "", err
		}
		var page []item
		if err := respell(list.Items, &page); err != nil {
			return "", err
		}
		items = append(items, page...)
		if cursor = list.Next; cursor == "" {
			break
		}
	}
	if len(items) == 0 {
		return "", errors.New("the site has no article")
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.Title+a.ID, b.Title+b.ID) })
	got, err := d.call(ctx, "article_get", map[string]any{"article": items[0].ID})
	if err != nil {
		return "", err
	}
	var a struct {
		Body, Address string
		Rev           int64
	}
	if err := respell(got.Article, &a); err != nil {
		return "", err
	}
	return fmt.Sprintf("done     %d articles; “%s” is at %s, rev %d, %d bytes, %s", len(items), items[0].Title, a.Address, a.Rev, len(a.Body), items[0].Status), nil
}

// write makes an article, looks at it in a preview, and compares the draft
// with what is live.
func (d *demo) write(ctx context.Context) (string, error) {
	out, err := d.call(ctx, "article_create", map[string]any{
		"site": "main", "slug": "agents-act-people-assent", "title": "Agents act, people assent",
		"body": "This was **written by an agent** and waits for a person.", "reason": "The demo needs an article.",
	})
	if err != nil {
		return "", err
	}
	d.article = out.Target.ID
	shown, err := d.call(ctx, "preview_create", map[string]any{"site": "main", "items": []any{map[string]any{"id": d.article}}})
	if err != nil {
		return "", err
	}
	var preview struct{ URL string }
	if err := respell(shown.Preview, &preview); err != nil {
		return "", err
	}
	status, page, err := d.get(ctx, strings.TrimSuffix(preview.URL, "/")+"/posts/agents-act-people-assent")
	if err != nil {
		return "", err
	}
	if !strings.Contains(page, "<strong>written by an agent</strong>") {
		return "", fmt.Errorf("the preview answered %d and does not show the article", status)
	}
	diff, err := d.call(ctx, "version_diff", map[string]any{"site": "main"})
	if err != nil {
		return "", err
	}
	var pending struct{ Changes []struct{ Change string } }
	if err := respell(diff.Diff, &pending); err != nil {
		return "", err
	}
	live, _, err := d.get(ctx, d.server.url+"/sites/main/posts/agents-act-people-assent")
	return fmt.Sprintf("done     a new article; its preview answers %d, the live site %d; %d changes are pending", status, live, len(pending.Changes)), err
}

// publish asks for everything pending to go live, and is stopped.
func (d *demo) publish(ctx context.Context) (string, error) {
	out, err := d.call(ctx, "site_publish", map[string]any{"site": "main", "note": "Everything, for the first time."})
	if err != nil {
		return "", err
	}
	if out.Outcome != commands.Waiting {
		return "", fmt.Errorf("the publish was %s", out.Outcome)
	}
	if err := respell(out.Proposal, &d.held); err != nil {
		return "", err
	}
	return fmt.Sprintf("waiting  cause %s: a person decides", d.held.Cause), nil
}

// approve is the person's yes to the card they see.
func (d *demo) approve(ctx context.Context) (string, error) {
	var card struct{ Headline, Digest string }
	if err := d.post(ctx, "GET", "/proposals/"+d.held.ID, nil, &card); err != nil {
		return "", err
	}
	var out commands.Outcome
	if err := d.post(ctx, "POST", "/proposals/"+d.held.ID+"/approve", map[string]any{"digest": card.Digest}, &out); err != nil {
		return "", err
	}
	status, page, err := d.get(ctx, d.server.url+"/sites/main/posts/agents-act-people-assent")
	if err != nil {
		return "", err
	}
	if status != http.StatusOK || !strings.Contains(page, "Agents act, people assent") {
		return "", fmt.Errorf("the live site answered %d", status)
	}
	return fmt.Sprintf("%-8s a person read “%s” and said yes; the live site answers %d", out.Outcome, card.Headline, status), nil
}

// editTitle is an edit somebody will regret.
func (d *demo) editTitle(ctx context.Context) (string, error) {
	out, err := d.call(ctx, "article_update", map[string]any{"article": d.article, "title": "Agents act alone"})
	if err != nil {
		return "", err
	}
	d.edit = out.Action
	l := out.Changes[0]
	return fmt.Sprintf("%-8s %s: %v → %v", out.Outcome, l.Field, l.Before, l.After), nil
}

// undo takes it back with one call.
func (d *demo) undo(ctx context.Context) (string, error) {
	var out commands.Outcome
	if err := d.post(ctx, "POST", "/actions/"+string(d.edit)+"/undo", map[string]any{}, &out); err != nil {
		return "", err
	}
	l := out.Changes[0]
	return fmt.Sprintf("%-8s %s: %v → %v", out.Outcome, l.Field, l.Before, l.After), nil
}

// audit prints who did what since the import, oldest first, and checks the
// log's chain.
func (d *demo) audit(ctx context.Context) (string, error) {
	var page httpapi.AuditPage
	if err := d.post(ctx, "GET", "/audit?limit=10&outcome=done", nil, &page); err != nil {
		return "", err
	}
	says := "done     who did what, newest first"
	for _, row := range page.Items {
		if row.Via.Local == "" && row.Principal.Kind != domain.KindSystem {
			says += "\n" + auditLine(row)
		}
	}
	if err := d.server.Verify(ctx, func(_, _ domain.Position) {}); err != nil {
		return "", err
	}
	return says + "\nthe chain of every event holds", nil
}

// auditLine is one action in a line, without what differs from run to run.
func auditLine(r httpapi.AuditRow) string {
	who := string(r.Principal.Kind)
	if r.Via.Local != "" {
		who = "local " + who
	}
	line := fmt.Sprintf("%-8s %-6s %-16s %-8s", who, r.Mode, r.Action, r.Outcome)
	if r.Verdict != nil && r.Verdict.Cause != "" {
		line += " " + r.Verdict.Cause + " lifted by " + r.Verdict.Lifted
	}
	if r.Undoes != "" {
		line += " takes back"
	}
	if r.Undone != "" {
		line += " taken back"
	}
	return strings.TrimRight(line, " ")
}

// call asks for a tool and reads the structured answer.
func (d *demo) call(ctx context.Context, tool string, args map[string]any) (commands.Outcome, error) {
	res, err := d.agent.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return commands.Outcome{}, err
	}
	var out commands.Outcome
	if err := respell(res.StructuredContent, &out); err != nil {
		return out, err
	}
	if out.Refusal != nil {
		return out, out.Refusal
	}
	return out, nil
}

// post asks the HTTP door as the person, with their session.
func (d *demo) post(ctx context.Context, method, path string, body, answer any) error {
	var send io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, d.server.url+"/api/v1"+path, send)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := d.person.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s %s answered %d: %s", method, path, res.StatusCode, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

// get reads a page of a site as anybody would.
func (d *demo) get(ctx context.Context, url string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// bearer sends an agent's key with every request.
type bearer struct{ key string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}
