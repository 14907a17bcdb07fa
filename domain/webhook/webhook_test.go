package webhook_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/domaintest"
	"assent/domain/policy"
	"assent/domain/webhook"
)

const address = "https://example.org/hooks/assent"

var (
	made  = webhook.Created{URL: address, Events: []string{"site.published"}}
	which = webhook.Which{Webhook: "hook_1"}
)

func TestCreate(t *testing.T) {
	create := func(url string, events ...string) webhook.CreateArgs {
		return webhook.CreateArgs{URL: url, Events: events}
	}
	at := func(url string) []any { return []any{webhook.Created{URL: url}} }
	domaintest.Run(t, webhook.Create, map[string]domaintest.Case[webhook.CreateArgs]{
		"told of one thing":                     {When: create(address, "site.published"), Then: []any{made}},
		"names are kept in one order, once":     {When: create(address, "site.published", "content.changed", "site.published"), Then: []any{webhook.Created{URL: address, Events: []string{"content.changed", "site.published"}}}},
		"told of everything":                    {When: create(address), Then: at(address)},
		"at a port":                             {When: create("https://example.org:8443/x?y=z"), Then: at("https://example.org:8443/x?y=z")},
		"at a public number":                    {When: create("https://93.184.215.14/x"), Then: at("https://93.184.215.14/x")},
		"on this machine, in the clear":         {When: create("http://localhost:9000/x"), Then: at("http://localhost:9000/x")},
		"on this machine, by its number":        {When: create("http://[::1]:9000/x"), Then: at("http://[::1]:9000/x")},
		"a name that nothing is told under":     {When: create(address, "site.deleted"), Refused: "invalid"},
		"the name of a test cannot be asked":    {When: create(address, webhook.Test), Refused: "invalid"},
		"nothing":                               {When: create(""), Refused: "invalid"},
		"in the clear":                          {When: create("http://example.org/x"), Refused: "invalid"},
		"in the clear to what looks like here":  {When: create("http://localhost.example.org/x"), Refused: "invalid"},
		"another scheme":                        {When: create("file:///etc/passwd"), Refused: "invalid"},
		"no host":                               {When: create("https:///x"), Refused: "invalid"},
		"no address at all":                     {When: create("https:example.org"), Refused: "invalid"},
		"with a password":                       {When: create("https://me:secret@example.org/"), Refused: "invalid"},
		"with an anchor":                        {When: create("https://example.org/#x"), Refused: "invalid"},
		"with an empty anchor":                  {When: create("https://example.org/#"), Refused: "invalid"},
		"a port that is none":                   {When: create("https://example.org:70000/"), Refused: "invalid"},
		"a host with letters from elsewhere":    {When: create("https://exаmple.org/"), Refused: "invalid"},
		"a host with a line break":              {When: create("https://example.org\n/"), Refused: "invalid"},
		"inside a network":                      {When: create("https://10.0.0.1/x"), Refused: "invalid"},
		"where clouds keep their secrets":       {When: create("https://169.254.169.254/latest"), Refused: "invalid"},
		"a private address written as the new":  {When: create("https://[::ffff:10.0.0.1]/"), Refused: "invalid"},
		"a private address inside of a gateway": {When: create("https://[64:ff9b::a00:1]/"), Refused: "invalid"},
		"with the name of a network card":       {When: create("https://[fe80::1%25eth0]/"), Refused: "invalid"},
		"longer than anybody's":                 {When: create(address + "?" + strings.Repeat("x", 2048)), Refused: "invalid"},
	})
}

func TestUpdate(t *testing.T) {
	domaintest.Run(t, webhook.Update, map[string]domaintest.Case[webhook.UpdateArgs]{
		"changes what it names": {Given: []any{made}, When: webhook.UpdateArgs{Which: which, Paused: new(true)}, Then: []any{webhook.Updated{Paused: new(true)}}},
		"of everything now":     {Given: []any{made}, When: webhook.UpdateArgs{Which: which, Events: &[]string{}}, Then: []any{webhook.Updated{Events: &[]string{}}}},
		"already so":            {Given: []any{made}, When: webhook.UpdateArgs{Which: which, URL: new(address), Events: &[]string{"site.published", "site.published"}}},
		"a bad address":         {Given: []any{made}, When: webhook.UpdateArgs{Which: which, URL: new("http://10.0.0.1/")}, Refused: "invalid"},
		"removed":               {Given: []any{made, webhook.Removed{}}, When: webhook.UpdateArgs{Which: which, Paused: new(true)}, Refused: "not-found"},
		"never made":            {When: webhook.UpdateArgs{Which: which, Paused: new(true)}, Refused: "not-found"},
	})
}

func TestRemove(t *testing.T) {
	domaintest.Run(t, webhook.Remove, map[string]domaintest.Case[webhook.RemoveArgs]{
		"once":       {Given: []any{made}, When: webhook.RemoveArgs{Which: which}, Then: []any{webhook.Removed{}}},
		"already so": {Given: []any{made, webhook.Removed{}}, When: webhook.RemoveArgs{Which: which}},
		"never made": {When: webhook.RemoveArgs{Which: which}, Refused: "not-found"},
	})
}

func TestWhatPeopleDoWithAWebhook(t *testing.T) {
	gone := []any{made, webhook.Removed{}}
	domaintest.Run(t, webhook.Rotate, map[string]domaintest.Case[webhook.RotateArgs]{
		"a second secret": {Given: []any{made}, When: webhook.RotateArgs{Which: which}, Then: []any{webhook.Rotated{Secret: 2}}},
		"a third":         {Given: []any{made, webhook.Rotated{Secret: 2}}, When: webhook.RotateArgs{Which: which}, Then: []any{webhook.Rotated{Secret: 3}}},
		"removed":         {Given: gone, When: webhook.RotateArgs{Which: which}, Refused: "not-found"},
	})
	domaintest.Run(t, webhook.Reveal, map[string]domaintest.Case[webhook.RevealArgs]{
		"is noted each time": {Given: []any{made, webhook.Revealed{}}, When: webhook.RevealArgs{Which: which}, Then: []any{webhook.Revealed{}}},
		"removed":            {Given: gone, When: webhook.RevealArgs{Which: which}, Refused: "not-found"},
	})
	domaintest.Run(t, webhook.Send, map[string]domaintest.Case[webhook.SendArgs]{
		"is sent each time": {Given: []any{made, webhook.Tested{}}, When: webhook.SendArgs{Which: which}, Then: []any{webhook.Tested{}}},
		"removed":           {Given: gone, When: webhook.SendArgs{Which: which}, Refused: "not-found"},
	})
}

func TestAWebhookWantsWhatItNamesAndEveryTest(t *testing.T) {
	some, all := webhook.Webhook{Events: []string{"site.published"}}, webhook.Webhook{}
	if !some.Wants("site.published") || some.Wants("proposal.filed") || !some.Wants(webhook.Test) || !all.Wants("proposal.filed") {
		t.Error("a webhook is told of what it does not want, or not of what it does")
	}
	if !slices.IsSorted(webhook.Names) {
		t.Error("the names are not sorted")
	}
}

// Whoever may not do it by themselves only asks, and only who owns the place
// says yes.
func TestReachingOutAlwaysWaitsForAnOwner(t *testing.T) {
	agent, person := domain.Principal{Kind: domain.KindAgent, ID: "agent_1"}, domain.Principal{Kind: domain.KindPerson, ID: "person_1"}
	for _, a := range webhook.Actions {
		if !a.Writes() || a.Class == action.People {
			continue
		}
		if policy.Editor.May(a.Deciding()) || !policy.Owner.May(a.Deciding()) {
			t.Errorf("%s: somebody else than an owner decides", a.Name)
		}
		ask := func(who domain.Principal, role policy.Role, mode policy.Mode, local bool) domain.Verdict {
			return policy.Ask(policy.Question{
				Principal: who, Local: local, Action: a.Name, Class: a.Class, Scope: a.Scope, Permission: a.Permission, Gate: a.Gate,
				Mode: mode, Scopes: policy.Scopes, Role: role,
			})
		}
		for _, mode := range []policy.Mode{policy.Manual, policy.Edits, policy.Auto} {
			if v := ask(agent, policy.Owner, mode, false); v.Answer != domain.Propose {
				t.Errorf("%s by an agent in %s: %+v", a.Name, mode, v)
			}
		}
		if v := ask(agent, policy.Owner, policy.Auto, false); a.Class == action.Content && v.Cause != "gate" {
			t.Errorf("%s by an agent: the cause is %q", a.Name, v.Cause)
		}
		if v := ask(agent, policy.Owner, policy.Bypass, true); v.Answer != domain.Propose || v.Cause != "gate" {
			t.Errorf("%s by a local caller who may do everything: %+v", a.Name, v)
		}
		if v := ask(agent, policy.Owner, policy.Plan, false); v.Code != "mode" {
			t.Errorf("%s by an agent that only plans: %+v", a.Name, v)
		}
		if v := ask(agent, policy.Editor, policy.Auto, false); v.Code != "permission" {
			t.Errorf("%s by the agent of an editor: %+v", a.Name, v)
		}
		if v := ask(person, policy.Editor, "", false); v.Code != "permission" {
			t.Errorf("%s by an editor: %+v", a.Name, v)
		}
		if v := ask(person, policy.Owner, "", false); v.Answer != domain.Act {
			t.Errorf("%s by an owner: %+v", a.Name, v)
		}
	}
}

func TestOnlyWhatEverybodyReachesIsPublic(t *testing.T) {
	for _, private := range strings.Fields(`
		0.0.0.0 0.1.2.3 10.1.2.3 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1
		192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255
		:: ::1 ::ffff:127.0.0.1 ::ffff:192.168.0.1 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1 100::1 fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1
		2001::1 2001:0:7f00:1:: 2001:db8::1 2002:7f00:1:: 2002:a00:1::1 3fff::1 4000::1`) {
		if webhook.Public(netip.MustParseAddr(private)) {
			t.Errorf("%s counts as public", private)
		}
	}
	for _, public := range strings.Fields(`1.1.1.1 8.8.8.8 93.184.215.14 172.15.0.1 172.32.0.1 100.63.255.255 100.128.0.1 ::ffff:8.8.8.8 2606:4700:4700::1111 2a00:1450::1`) {
		if !webhook.Public(netip.MustParseAddr(public)) {
			t.Errorf("%s counts as private", public)
		}
	}
	if webhook.Public(netip.Addr{}) {
		t.Error("no address counts as public")
	}
}
