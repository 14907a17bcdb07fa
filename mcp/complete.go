package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/commands"
	"assent/domain"
)

// maxValues is how many values one completion gives.
const maxValues = 100

// complete offers values for what a person is typing: the handles of sites, and
// the ids of items whose id, title or address begins like it or holds it. It
// reads through the road, as the caller: nobody is offered what they may not
// see.
func (d *Door) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	p := req.Params
	of := p.Argument.Name
	if p.Ref.Type == "ref/resource" && !slices.ContainsFunc(resources(), func(r resource) bool {
		return r.template() == p.Ref.URI
	}) {
		of = ""
	}
	var kinds []string
	switch of {
	case "site":
		values, err := d.siteNames(ctx, req)
		return completion(values), err
	case "article", "page":
		kinds = []string{of}
	case "item":
		kinds = []string{"article", "page"}
	default:
		return completion(nil), nil // nothing to offer, and that is no error
	}
	values, err := d.itemIDs(ctx, req, kinds)
	return completion(values), err
}

func completion(values []string) *sdk.CompleteResult {
	total := len(values)
	if total > maxValues {
		values = values[:maxValues]
	}
	if values == nil {
		values = []string{}
	}
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: values, Total: total, HasMore: total > len(values)}}
}

// listed things, as far as completion looks at them.
type thing struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Address string `json:"address"`
}

// like says that a person who typed this may mean it.
func (t thing) like(typed string) bool {
	typed = strings.ToLower(typed)
	return strings.Contains(strings.ToLower(t.ID), typed) || strings.Contains(strings.ToLower(t.Title), typed) || strings.Contains(strings.ToLower(t.Address), typed)
}

func (d *Door) siteNames(ctx context.Context, req *sdk.CompleteRequest) ([]string, error) {
	sites, err := d.things(ctx, req, "site.list", map[string]any{"limit": maxValues})
	return idsLike(sites, req.Params.Argument.Value), err
}

func (d *Door) itemIDs(ctx context.Context, req *sdk.CompleteRequest, kinds []string) ([]string, error) {
	var on []string
	if c := req.Params.Context; c != nil && c.Arguments["site"] != "" {
		on = []string{c.Arguments["site"]}
	} else {
		sites, err := d.things(ctx, req, "site.list", map[string]any{"limit": maxCompletedSites})
		if err != nil {
			return nil, err
		}
		for _, s := range sites {
			on = append(on, s.ID)
		}
	}
	var found []string
	for _, site := range on {
		for _, kind := range kinds {
			items, err := d.things(ctx, req, kind+".list", map[string]any{"site": site, "limit": maxValues})
			if err != nil {
				return nil, err
			}
			found = append(found, idsLike(items, req.Params.Argument.Value)...)
		}
	}
	return found, nil
}

// maxCompletedSites bounds how many sites one keystroke may look through.
const maxCompletedSites = 5

func idsLike(things []thing, typed string) []string {
	var ids []string
	for _, t := range things {
		if t.like(typed) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// things asks for a list through the road. What the caller may not list holds
// nothing for them.
func (d *Door) things(ctx context.Context, req *sdk.CompleteRequest, name string, args map[string]any) ([]thing, error) {
	out, err := d.look(ctx, name, args, clientFrom(req.ClientInfo()))
	if err != nil || out.Answer == nil {
		return nil, err
	}
	list, err := thingsIn(out.Answer)
	if err != nil {
		d.logger.ErrorContext(ctx, "a list could not be read", "action", name, "err", err)
		return nil, errInternal
	}
	return list, nil
}

func thingsIn(a *commands.Answer) ([]thing, error) {
	text, err := json.Marshal(a.Items)
	if err != nil {
		return nil, err
	}
	var list []thing
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	return list, nil
}

// look reads through the road for whoever calls. A meant no is an outcome; a
// fault is logged and told as one.
func (d *Door) look(ctx context.Context, name string, args any, client domain.Client) (commands.Outcome, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return commands.Outcome{}, err
	}
	c := callerOf(ctx).call()
	c.Action, c.Args, c.Client = name, text, client
	out, err := d.do(ctx, c)
	if err != nil {
		d.logFault(ctx, c, err)
		return commands.Outcome{}, errInternal
	}
	return out, nil
}
