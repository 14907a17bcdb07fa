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
type resource struct {
	scheme, tail string // scheme://{scheme}tail
	action       string
	title, about string
	args         func(id, version string) map[string]string
}

func (r resource) name() string {
	if r.tail == "" {
		return r.scheme
	}
	return r.scheme + "-" + r.action
}

func (r resource) template() string { return r.scheme + "://{" + r.scheme + "}" + r.tail }

// The ends of addresses that are about a thing's versions.
const (
	allVersions = "/versions"
	oneVersion  = "/versions/{version}"
)

func resources() []resource {
	var all []resource
	for _, kind := range []struct{ scheme, of, title, about, versions string }{
		{"site", "site", "Site", "A site's settings as they stand in the draft.", "A site's publishes (p1, p2, …), newest first."},
		{"article", "item", "Article", "An article as it stands in the draft, with its body.", "Every version of an article, newest first, with who made it and why."},
		{"page", "item", "Page", "A page as it stands in the draft, with its body.", "Every version of a page, newest first, with who made it and why."},
	} {
		all = append(all,
			resource{kind.scheme, "", kind.scheme + ".get", kind.title, kind.about, func(id, _ string) map[string]string {
				return map[string]string{kind.scheme: id}
			}},
			resource{kind.scheme, allVersions, "version.list", kind.title + ": versions", kind.versions, func(id, _ string) map[string]string {
				return map[string]string{kind.of: id}
			}},
			resource{kind.scheme, oneVersion, "version.diff", kind.title + ": since a version", "What has changed between a version and the draft, field by field.", func(id, version string) map[string]string {
				return map[string]string{kind.of: id, "from": version}
			}})
	}
	return all
}

func (d *Door) addResources(s *sdk.Server) {
	for _, r := range resources() {
		if _, ok := d.registry.Find(r.action); !ok {
			continue
		}
		s.AddResourceTemplate(
			&sdk.ResourceTemplate{Name: r.name(), Title: r.title, Description: r.about, MIMEType: "application/json", URITemplate: r.template()},
			func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return d.readResource(ctx, r, req)
			})
	}
}

// parts takes an address apart into the id and the version it names.
func (r resource) parts(uri string) (id, version string, ok bool) {
	segments := strings.Split(strings.TrimPrefix(uri, r.scheme+"://"), "/")
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil || plain == "" || len(plain) > 200 {
			return "", "", false
		}
		segments[i] = plain
	}
	switch r.tail {
	case "":
		return segments[0], "", len(segments) == 1
	case allVersions:
		return segments[0], "", len(segments) == 2
	}
	if len(segments) != 3 {
		return "", "", false
	}
	return segments[0], segments[2], true
}

func (d *Door) readResource(ctx context.Context, r resource, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	id, version, ok := r.parts(uri)
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	out, err := d.look(ctx, r.action, r.args(id, version), clientFrom(req.ClientInfo()))
	switch {
	case err != nil:
		return nil, err
	case out.Refusal != nil && (out.Refusal.Code == "scope" || out.Refusal.Code == "not-found"):
		return nil, sdk.ResourceNotFoundError(uri)
	case out.Refusal != nil:
		return nil, refusedMessage(out.Refusal)
	case out.Answer == nil:
		return nil, errInternal
	}
	text, err := json.Marshal(thingOf(out.Answer))
	if err != nil {
		d.logger.ErrorContext(ctx, "a thing could not be written", "uri", clip(uri, 300), "err", err)
		return nil, errInternal
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(text)}}}, nil
}

func thingOf(a *commands.Answer) any {
	for _, thing := range []any{a.Site, a.Article, a.Page, a.Diff} {
		if thing != nil {
			return thing
		}
	}
	return struct {
		Items any    `json:"items"`
		Next  string `json:"next,omitempty"`
	}{a.Items, a.Next}
}

// listResources gives what a person can attach without knowing its id: the
// skills, and the sites page by page.
func (d *Door) listResources(ctx context.Context, p *sdk.ListResourcesParams, client *sdk.Implementation) (*sdk.ListResourcesResult, error) {
	res := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}, Cacheable: kept}
	args := map[string]any{"limit": maxValues}
	if p != nil && p.Cursor != "" {
		args["cursor"] = p.Cursor
	} else {
		list, err := d.skillResources(ctx)
		if err != nil {
			return nil, err
		}
		res.Resources = append(res.Resources, list...)
	}
	b, err := d.brief(ctx)
	if err != nil {
		return nil, err
	}
	if a, ok := d.registry.Find("site.list"); !ok || !b.reaches(a) {
		if args["cursor"] != nil {
			return nil, noPage
		}
		return res, nil
	}
	out, err := d.look(ctx, "site.list", args, clientFrom(client))
	switch {
	case err != nil:
		return nil, err
	case out.Refusal != nil && args["cursor"] != nil:
		return nil, noPage
	case out.Answer == nil: // not at present: there is nothing to attach
		return res, nil
	}
	sites, err := thingsIn(out.Answer)
	if err != nil {
		return nil, errInternal
	}
	for _, s := range sites {
		res.Resources = append(res.Resources, &sdk.Resource{
			URI: "site://" + url.PathEscape(s.ID), Name: s.ID, Title: s.Title, MIMEType: "application/json",
			Description: "A site's settings as they stand in the draft.",
		})
	}
	res.NextCursor = out.Answer.Next
	return res, nil
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
		return !strings.HasPrefix(t.URITemplate, skillScheme)
	})
	return &own, nil
}
