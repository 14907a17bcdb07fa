package mcp

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
)

// resource is a thing that can be read by an address of its own: what a client
// lets a person attach to a conversation. It is read through the same action
// as the tool, so whoever may not use the one may not use the other.
type resource struct{ scheme, variable, action, about string }

func resources() []resource {
	return []resource{
		{"site", "site", "site.get", "A site's settings as they stand in the draft."},
		{"article", "article", "article.get", "An article as it stands in the draft, with its body."},
		{"page", "page", "page.get", "A page as it stands in the draft, with its body."},
	}
}

func (r resource) template() string { return r.scheme + "://{" + r.variable + "}" }

func (d *Door) addResources(s *sdk.Server) {
	for _, r := range resources() {
		a, ok := d.registry.Find(r.action)
		if !ok {
			continue
		}
		s.AddResourceTemplate(
			&sdk.ResourceTemplate{Name: r.scheme, Title: a.Title, Description: r.about, MIMEType: "application/json", URITemplate: r.template()},
			func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return d.readResource(ctx, r, req)
			})
	}
}

func (d *Door) readResource(ctx context.Context, r resource, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	id, err := url.PathUnescape(strings.TrimPrefix(uri, r.scheme+"://"))
	if err != nil || id == "" || len(id) > 200 {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	args, err := json.Marshal(map[string]string{r.variable: id})
	if err != nil {
		return nil, err
	}
	c := callerOf(ctx).call()
	c.Action, c.Args, c.Client = r.action, args, clientFrom(req.ClientInfo())
	out, err := d.do(ctx, c)
	switch {
	case err != nil:
		d.logFault(ctx, c, err)
		return nil, errInternal
	case out.Refusal != nil && out.Refusal.Code == "scope" || out.Refusal != nil && out.Refusal.Code == "not-found":
		return nil, sdk.ResourceNotFoundError(uri)
	case out.Refusal != nil:
		return nil, refusedMessage(out.Refusal)
	case out.Answer == nil:
		return nil, errInternal
	}
	text, err := json.Marshal(thingOf(out.Answer))
	if err != nil {
		d.logFault(ctx, c, err)
		return nil, errInternal
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(text)}}}, nil
}

func thingOf(a *commands.Answer) any {
	for _, thing := range []any{a.Site, a.Article, a.Page} {
		if thing != nil {
			return thing
		}
	}
	return nil
}

// ownTemplates leaves out what the caller may not read.
func (d *Door) ownTemplates(ctx context.Context, list *sdk.ListResourceTemplatesResult) (*sdk.ListResourceTemplatesResult, error) {
	b, err := d.brief(ctx)
	if err != nil {
		return nil, err
	}
	own := *list // the library shares what it lists with everyone
	own.ResourceTemplates = slices.DeleteFunc(slices.Clone(list.ResourceTemplates), func(t *sdk.ResourceTemplate) bool {
		for _, r := range resources() {
			if a, ok := d.registry.Find(r.action); ok && r.template() == t.URITemplate {
				return !b.reaches(a)
			}
		}
		return true
	})
	return &own, nil
}
