package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/domain/action"
)

// prompt is a job that a person picks from a menu: what they would otherwise
// have to spell out to their agent. It says how the job is done here and lets
// nobody do more.
type prompt struct {
	def   sdk.Prompt
	needs []string // actions; who cannot reach them is not offered the job
	text  string   // {name} is replaced by what was given
}

// Arguments that several jobs take. Their names are those of the tools'.
var (
	aSite    = argument{"site", "The site's handle."}
	anItem   = argument{"item", "The article's or page's id."}
	whatItIs = argument{"about", "What it is to be about, in your own words."}
)

type argument struct{ name, about string }

// promptsOf is every job whose actions the registry has, by name.
func promptsOf(registry *action.Registry) []prompt {
	jobs := []prompt{
		job("check_drafts", "Check what waits to go live", "Look through a site's unpublished changes before anybody publishes them.",
			"Look at what differs between the draft of the site {site} and what is live: `version_diff`, and `article_get` or `page_get` for what is unclear. "+
				"For each change say in one line what it is and whether it looks finished. Name mistakes you find (spelling, broken links, contradictions) with their place. Change nothing.",
			[]string{"version.diff", "article.get"}, aSite),
		job("improve_item", "Improve an article or page", "Have one text looked through and improved, and see what changed.",
			"Read {item} (`article_get` or `page_get`). Improve its text: clearer sentences, correct spelling, the same facts and the same voice. "+
				"Then save it with `article_update` or `page_update`, with the `rev` you read and a `reason`, and tell what you changed and why. Leave what you are unsure about and say so.",
			[]string{"article.get", "article.update"}, anItem),
		job("publish_site", "Publish what is ready", "Have a site's finished changes published, or put before a person.",
			"Look at what would go live on the site {site}: `version_diff`, then `preview_create` for a page to look at. Rehearse with `site_publish` and `dry_run`. "+
				"If all of it is finished, publish it with a `note` that says what is new; if some is not, name only the finished items. When it waits for a person, give the address where it is decided and go on.",
			[]string{"version.diff", "site.publish"}, aSite),
		job("translate_article", "Translate an article", "Make an article in another language beside the one there is.",
			"Read {item} (`article_get`). Translate title, summary and body into the language {locale}, keeping its Markdown. "+
				"Make it a new article on the same site and collection with `article_create`, with `locale` {locale} and a slug of its own. Translate nothing that is a name, and change no facts.",
			[]string{"article.get", "article.create"}, anItem, argument{"locale", "The language, such as de or pt-BR."}),
		job("what_waits", "What became of what was asked", "Hear what waits for a person, and what was decided.",
			"Look at `proposal_list`. Say what still waits, since when, and at which address a person decides. Say what was declined and why (`proposal_get`), and suggest what to do about it. Ask for nothing again by yourself.",
			[]string{"proposal.list"}),
		job("write_article", "Write an article", "Have a draft written from a few words.",
			"Write an article for the site {site} about: {about}. Read two or three of its articles first (`article_list`, `article_get`) for length, tone and the tags in use. "+
				"Create it with `article_create`, with a summary and a `reason`. Do not publish it; make a preview with `preview_create` and give its address.",
			[]string{"article.list", "article.create"}, aSite, whatItIs),
	}
	return slices.DeleteFunc(jobs, func(p prompt) bool {
		return slices.ContainsFunc(p.needs, func(name string) bool { _, ok := registry.Find(name); return !ok })
	})
}

func job(name, title, about, text string, needs []string, args ...argument) prompt {
	p := prompt{def: sdk.Prompt{Name: name, Title: title, Description: about}, needs: needs, text: text}
	for _, a := range args {
		p.def.Arguments = append(p.def.Arguments, &sdk.PromptArgument{Name: a.name, Description: a.about, Required: true})
	}
	return p
}

// offered says that the caller can reach what a job needs.
func (d *Door) offered(b Brief, p prompt) bool {
	return !slices.ContainsFunc(p.needs, func(name string) bool {
		a, ok := d.registry.Find(name)
		return !ok || !b.reaches(a)
	})
}

// listPrompts gives the jobs that the caller can do.
func (d *Door) listPrompts(ctx context.Context) (*sdk.ListPromptsResult, error) {
	b, err := d.brief(ctx)
	if err != nil {
		return nil, err
	}
	res := &sdk.ListPromptsResult{Prompts: []*sdk.Prompt{}, Cacheable: kept}
	for _, p := range d.prompts {
		if d.offered(b, p) {
			res.Prompts = append(res.Prompts, &p.def)
		}
	}
	return res, nil
}

// maxArgument bounds what is given for a job, in bytes.
const maxArgument = 4 << 10

// getPrompt spells a job out. What the person gave goes in as their words, in
// quotes that they cannot end.
func (d *Door) getPrompt(ctx context.Context, p *sdk.GetPromptParams) (*sdk.GetPromptResult, error) {
	b, err := d.brief(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(d.prompts, func(x prompt) bool { return x.def.Name == p.Name && d.offered(b, x) })
	if i < 0 {
		return nil, badPrompt("not-found", "There is no such job here for you. List the jobs for those there are.")
	}
	chosen := d.prompts[i]
	var faults []string
	replace := []string{}
	for _, a := range chosen.def.Arguments {
		switch given := p.Arguments[a.Name]; {
		case strings.TrimSpace(given) == "":
			faults = append(faults, fmt.Sprintf("`%s` is missing", a.Name))
		case len(given) > maxArgument:
			faults = append(faults, fmt.Sprintf("`%s` is %d bytes long; at most %d are taken", a.Name, len(given), maxArgument))
		default:
			replace = append(replace, "{"+a.Name+"}", "“"+strings.NewReplacer("“", "'", "”", "'").Replace(clip(given, maxArgument))+"”")
		}
	}
	if len(faults) > 0 {
		return nil, badPrompt("invalid", chosen.def.Name+": "+strings.Join(faults, "; ")+".")
	}
	text := strings.NewReplacer(replace...).Replace(chosen.text)
	return &sdk.GetPromptResult{
		Description: chosen.def.Description,
		Messages:    []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}},
	}, nil
}

func badPrompt(code, sentence string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: sentence, Data: stable(code)}
}
