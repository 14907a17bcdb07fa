package catalogue_test

import (
	"encoding/json"
	"time"

	"assent/domain"
	"assent/domain/address"
	"assent/domain/agent"
	"assent/domain/article"
	"assent/domain/command"
	"assent/domain/conduct"
	"assent/domain/containment"
	"assent/domain/delivery"
	"assent/domain/live"
	"assent/domain/pace"
	"assent/domain/page"
	"assent/domain/person"
	"assent/domain/policy"
	"assent/domain/proposal"
	"assent/domain/readmodel"
	"assent/domain/rules"
	"assent/domain/site"
	"assent/domain/skill"
	"assent/domain/webhook"
	"assent/domain/workspace"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// histories are one life of each kind of thing, with every word in it, every
// field of it filled. The first event of a word is its golden: never edit one
// that stands in testdata/events.
var histories = map[string][]any{
	"article": {
		article.Created{
			Site: "main", Collection: "posts", Locale: "de", Slug: "menu", Title: "Wintermenü", Summary: "Kohl.", Body: "# Grünkohl\n",
			Tags: []string{"food"}, Authors: []string{"Ada"}, Date: "2026-11-30", Meta: map[string]any{"layout": "wide", "weight": 1.5},
		},
		article.Updated{
			Collection: new("notes"), Locale: new(""), Slug: new("spring"), Title: new("Spring menu"), Summary: new(""), Body: new("Peas."),
			Tags: &[]string{}, Authors: &[]string{"Ada", "Bo"}, Date: new("2027-03-01T09:00:00Z"), Meta: &map[string]any{"nested": map[string]any{"a": []any{1.0, true, nil}}},
		},
		article.Removed{},
		article.Restored{},
	},
	"page": {
		page.Created{Site: "main", Locale: "de", Path: "/über-uns", Title: "Über uns", Body: "Gemüse.", Meta: map[string]any{"layout": "wide"}},
		page.Updated{Locale: new(""), Path: new("/about"), Title: new("About us"), Body: new("Vegetables."), Meta: &map[string]any{}},
		page.Removed{},
		page.Restored{},
	},
	"site": {
		site.Created{Title: "The garden club", Tagline: "Growing since 1974", Locale: "en", Menu: []site.Link{{Label: "About", Path: "/about"}}, Theme: map[string]any{"accent": "#2f6f4f"}},
		site.Updated{Title: new("Garden club"), Tagline: new(""), Locale: new("de"), Menu: &[]site.Link{}, Theme: &map[string]any{"font": "serif"}},
	},
	"live": {
		live.Published{Items: []live.Item{{ID: "art_1", Version: 3, Address: "/posts/menu"}, {ID: "main", Version: 1}, {ID: "page_1"}}},
	},
	"command": {
		command.Given{Target: "article/art_1"},
	},
	"address": {
		address.Taken{Holder: "article-home/art_1"},
		address.Freed{},
	},
	"workspace": {
		workspace.Founded{Founder: "person_1"},
		workspace.Updated{RulesChange: policy.RulesChange{Paused: new(true), AutoPublishLimit: new(5)}, LocalMode: new(policy.Auto)},
		workspace.Updated{RulesChange: policy.RulesChange{
			Pace: new(10), Waits: &[]string{"page.update"}, Separation: new(policy.SeparateOn),
			Freezes: &[]policy.Freeze{{From: noon, Until: noon.Add(time.Hour), Why: "the fair"}},
			Stages:  &[]policy.Stage{{Of: "publish", Roles: []policy.Role{policy.Owner}, People: []string{"person_1"}, Need: 2}},
		}, UndoHours: new(72)},
	},
	"containment": {
		containment.Begun{Scope: containment.Scope{Agent: "agent_1", Key: "key_1", Since: noon}, By: "person_1", Session: "sess_1", Late: true},
		containment.Advanced{After: "article/art_1", Counts: containment.Counts{Taken: 2, Conflicting: 1, Impossible: 1}, Left: []containment.Left{
			{Thing: "article/art_1", Newest: "act_1", Actions: 1, Mark: containment.Conflicting, Code: "undo-conflict", Fields: []string{"title"}},
		}},
		containment.Settled{},
	},
	"pace": {
		pace.Spent{Thing: "article-home/art_1", At: noon},
	},
	"rules": {
		rules.Updated{RulesChange: policy.RulesChange{Paused: new(true), Pace: new(5), Waits: &[]string{}}},
	},
	"person": {
		person.Seated{Role: policy.Editor},
		person.Unseated{},
		person.Erased{},
	},
	"agent": {
		agent.Created{Person: "person_1", Mode: policy.Edits, Scopes: []string{"content:read", "content:write"}, Site: "main", Confirm: true},
		agent.Updated{Mode: new(policy.Plan), Scopes: &[]string{"content:read"}, Site: new(""), Confirm: new(false), Paused: new(true)},
		agent.Minted{Key: "key_1", Expires: noon, Mode: policy.Plan, Scopes: []string{}},
		agent.Revoked{Key: "key_1"},
		agent.Elevated{ID: "act_1", Mode: policy.Auto, Until: noon, By: "person_1"},
		agent.ElevationEnded{ID: "act_1"},
		agent.StandingMade{ID: "act_2", Action: "article.update", Key: "key_1", Site: "main", By: "person_1", Until: noon, Rules: policy.Rules{Pace: 5}},
		agent.StandingEnded{ID: "act_2"},
		agent.Confined{Collection: "news"},
		agent.KeyConfined{Key: "key_1", Bounds: agent.Bounds{Site: "main", Collection: "news"}},
		agent.Ending{Key: "key_1", At: noon, For: "key_2"},
		agent.Reminded{Key: "key_1", Ends: noon},
	},
	"proposal": {
		proposal.Filed{
			Asker: domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}, Headline: "Publish 2 changes", Cause: "tool", Changes: 2,
			Counts: proposal.Counts{Added: 1, Edited: 1}, Digest: "d1", Clipped: true, Expires: noon.Add(proposal.Lifetime),
			Lines: []domain.Change{{Kind: "article", ID: "art_1", Title: "Menu", Version: 3, Was: 2, Change: domain.Edited, Fields: []domain.Line{{Field: "title", Before: "Winter", After: "Spring"}}}},
			Reads: []proposal.Read{{Stream: "live-home/main", Version: 4}},
		},
		proposal.Called{Part: 1, Action: "site.publish", Args: json.RawMessage(`{"items":[{"id":"art_1","version":3}],"site":"main"}`), Target: "live-home/main"},
		proposal.Approved{By: "person_1", Digest: "d1", Action: "act_1"},
		proposal.Settled{Results: []proposal.Result{{Part: 1, Outcome: "refused", Action: "act_2", Code: "stale", Reason: "It has moved on."}}},
		proposal.Declined{By: "person_1", Code: "wrong"},
		proposal.Assented{By: "person_1", Digest: "d1"},
		proposal.Withdrawn{},
		proposal.Expired{},
		proposal.Reminded{},
	},
	"webhook": {
		webhook.Created{URL: "https://example.org/hooks/assent", Events: []string{"proposal.filed", "site.published"}},
		webhook.Updated{URL: new("https://example.com/assent"), Events: &[]string{}, Paused: new(true)},
		webhook.Rotated{Secret: 2},
		webhook.Revealed{},
		webhook.Tested{},
		webhook.Removed{},
		webhook.Restored{},
	},
	"delivery": {
		delivery.Failed{Webhook: "hook_1", Event: "evt_1", Name: "site.published", Stream: "live-home/main", Version: 4, Code: "404", Held: true},
		delivery.Retried{},
		delivery.Arrived{},
	},
	"skill": {
		skill.Accepted{Digest: "sha256:9b1c"},
	},
	"readmodel": {
		readmodel.Skipped{},
	},
	"conduct": {
		conduct.Refused{Action: "site.publish", Target: "main", Code: "scope", Why: "This needs `publish`.", Count: 21},
		conduct.Idle{Action: "article.update", Target: "art_1", Count: 1},
		conduct.Read{Action: "article.list", Count: 40, Targets: []string{"main"}, Minute: noon},
	},
}
