package browser

import (
	"strings"
	"testing"
)

const opening = "# Spring opening\n\nThe garden opens on 1 April at nine.\n\nEntry is free for members.\n\nDogs stay at home.\n"

func TestSomebodyWhoHasNeverSeenItPublishesAnArticle(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	b.open("/")
	b.says("There is no agent yet")
	h.agent(b, "desk", "edits")
	h.article("desk", "spring", "Spring opening", opening)
	h.publish("desk", "The team moved the opening.")
	if page := h.page("/posts/spring"); strings.HasPrefix(page, "200") {
		t.Fatalf("it is live before a person said yes: %s", page)
	}
	b.open("/")
	b.says("Spring opening")
	b.says("The agent’s own words: nobody checked them")
	if focus := js[string](b, `() => document.activeElement.tagName`); focus != "BODY" {
		t.Errorf("the focus stands on %s when the page opens", focus)
	}
	b.press("Approve…")
	b.says("You say yes to exactly this, once.")
	b.press("Yes, approve")
	b.says("carried out")
	b.until("the site shows it", func() bool { return strings.Contains(h.page("/posts/spring"), "opens on 1 April") })
	b.open("/audit")
	b.says("site.publish")
}

func TestADeclineReachesTheAgent(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "edits")
	h.article("desk", "spring", "Spring opening", opening)
	id := h.publish("desk", "")
	b.open("/proposals/" + id)
	b.press("Decline…")
	b.tick(js[string](b, `() => document.querySelector("details[open] label.choice").innerText.trim()`))
	b.fill("In a sentence", "The date is wrong: it is the 28th of March.")
	b.press("Decline")
	b.says("Declined")
	if told := h.must("done", "desk", "proposal.get", map[string]any{"proposal": id}); !strings.Contains(told.raw, "28th of March") || told.Proposal.State != "declined" {
		t.Errorf("the agent is told %s", told.raw)
	}
	if page := h.page("/posts/spring"); strings.HasPrefix(page, "200") {
		t.Errorf("it is live: %s", page)
	}
}

func TestWhatChangedSinceItWasShownIsShownAgain(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "manual")
	h.agent(b, "other", "edits")
	id := h.article("other", "spring", "Spring opening", opening)
	p := h.must("waiting", "desk", "article.update", map[string]any{"article": id, "title": "Opening in spring"}).Proposal.ID
	b.open("/proposals/" + p + "/approve")
	b.says("You say yes to exactly this")
	h.must("done", "other", "article.update", map[string]any{"article": id, "title": "The spring opening of the garden"})
	b.press("Yes, approve")
	b.says("as it is now")
	b.says("The spring opening of the garden")
	b.press("Approve it as it is now")
	b.says("carried out")
	if got := h.must("done", "other", "article.get", map[string]any{"article": id}); !strings.Contains(got.raw, "Opening in spring") {
		t.Errorf("the article is %s", got.raw)
	}
}

func TestSomePartsAreKept(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "plan")
	p := h.must("waiting", "desk", "plan.file", map[string]any{"title": "Two articles for spring", "calls": []any{
		map[string]any{"tool": "article_create", "arguments": map[string]any{"site": "main", "slug": "kale", "title": "Kale", "body": "Sow in July."}},
		map[string]any{"tool": "article_create", "arguments": map[string]any{"site": "main", "slug": "dogs", "title": "Dogs", "body": "On a lead."}},
	}}).Proposal.ID
	b.open("/proposals/" + p)
	b.says("Part 2")
	b.press("Approve…")
	b.tick("Part 2")
	b.press("Yes, approve")
	b.says("left out")
	got := h.must("done", "desk", "article.list", map[string]any{"site": "main"})
	if !strings.Contains(got.raw, "Kale") || strings.Contains(got.raw, "Dogs") {
		t.Errorf("there is %s", got.raw)
	}
}

func TestWhoDecidesSecondIsToldWhoDecided(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "edits")
	h.article("desk", "spring", "Spring opening", opening)
	p := h.publish("desk", "")
	late := h.signIn()
	late.open("/proposals/" + p + "/approve")
	b.open("/proposals/" + p + "/approve")
	b.press("Yes, approve")
	b.says("carried out")
	late.press("Yes, approve")
	late.says("Ana Lind")
	late.says("Approved")
	// The back button shows the page of before, and a yes from there is the same.
	js[bool](b, `() => { history.back(); return true }`)
	b.until("the page of before is there", func() bool { return strings.HasSuffix(b.path(), "/approve") && js[bool](b, find, "Yes, approve") })
	js[bool](b, `() => { document.querySelector("[data-found]").click(); return true }`) // the driver does not know a page it did not see load
	b.says("Ana Lind")
	if got := h.must("done", "desk", "version.list", map[string]any{"site": "main"}); strings.Count(got.raw, `"action":"site.publish"`) != 1 {
		t.Errorf("it was published more than once: %s", got.raw)
	}
}

func TestLaterWorkSurvivesAnUndo(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "edits")
	id := h.article("desk", "spring", "Spring opening", opening)
	h.must("done", "desk", "article.update", map[string]any{"article": id, "title": "Opening", "summary": "When the garden opens."})
	h.must("done", "desk", "article.update", map[string]any{"article": id, "title": "The opening"})
	b.open("/audit?target=" + id)
	b.until("there are three lines", func() bool {
		return js[int](b, `() => document.querySelectorAll("tbody tr").length`) == 3
	})
	js[bool](b, `() => { document.querySelectorAll("tbody tr")[1].querySelector("a[aria-label^=Undo]").click(); return true }`)
	b.says("choose for each field what stays")
	b.says("The opening")
	b.press("Take it back")
	b.says("article")
	got := h.must("done", "desk", "article.get", map[string]any{"article": id})
	if !strings.Contains(got.raw, `"The opening"`) || strings.Contains(got.raw, "When the garden opens") {
		t.Errorf("the article is %s", got.raw)
	}
}

func TestAnAgentIsContained(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "edits")
	for _, name := range []string{"kale", "dogs", "fair"} {
		h.article("desk", name, name, "Text of "+name)
	}
	b.open("/agents")
	b.press("desk")
	b.press("Contain…")
	b.press("See what would go")
	b.says("3 of these things go back")
	b.press("Stop it and take back")
	b.says("aken back")
	at := b.path()
	b.until("it is finished", func() bool {
		b.open(at)
		return strings.Contains(b.seen(), "3 actions")
	})
	if a := h.act("desk", "article.create", map[string]any{"site": "main", "slug": "x", "title": "x", "body": "x"}); a.Refusal.Code != "paused" && !strings.Contains(a.raw, "paused") {
		t.Errorf("it still works: %s", a.raw)
	}
}

func TestAReadModelIsRebuilt(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "edits")
	h.article("desk", "spring", "Spring opening", opening)
	b.open("/system")
	b.press("Rebuild")
	b.until("another generation is live", func() bool {
		b.open("/system")
		return strings.Contains(b.seen(), "is live instead of")
	})
	b.says("Nothing differs")
	b.press("Switch back")
	b.says("System")
	b.open("/audit")
	b.says("article.create")
}

func TestAnAuditorFindsWhoChangedATitle(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "edits")
	h.agent(b, "other", "edits")
	id := h.article("desk", "spring", "Spring opening", opening)
	h.must("done", "other", "article.update", map[string]any{"article": id, "title": "Opening", "reason": "Shorter."})
	b.open("/audit")
	b.fill("Agent", "other")
	b.fill("Action", "article.update")
	b.press("Filter")
	b.until("there is one line", func() bool {
		return strings.Contains(b.path(), "action=article.update") && js[int](b, `() => document.querySelectorAll("tbody tr").length`) == 1
	})
	b.press("article.update")
	b.says("Shorter.")
	b.says("Ana Lind")
	b.press("Ask those rules again")
	b.says("say the same as the record")
}

func TestSigningInAndOut(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	b.press("Ana Lind")
	b.press("Sign out")
	b.says("You are signed in as")
	b.press("Sign out")
	b.says("Sign in")
	b.open("/audit")
	b.says("Sign in")
	b.fill("Email", "ana@example.org")
	b.fill("Password", "not this one at all")
	b.press("Sign in")
	b.until("it says no", func() bool { return js[bool](b, `() => document.querySelector("[role=alert]") !== null`) })
	b.fill("Email", "ana@example.org")
	b.fill("Password", password)
	b.press("Sign in")
	b.until("it goes on where it was", func() bool { return b.path() == "/audit" })
}

func TestNothingNeedsScript(t *testing.T) {
	t.Parallel()
	h := serve(t)
	h.keys["desk"] = ""
	b := h.owner()
	h.agent(b, "desk", "edits")
	h.article("desk", "spring", "Spring opening", opening)
	p := h.publish("desk", "")
	b.scriptless()
	b.open("/proposals/" + p)
	b.press("Approve…")
	b.press("Yes, approve")
	b.says("carried out")
}

func TestAllAgentsArePausedFromAnyPage(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "edits")
	for _, page := range pagesOf("") {
		b.open(page)
		if !js[bool](b, find, "Pause all agents") {
			t.Errorf("%s has nothing to pause all agents with", page)
		}
	}
	b.press("Pause all agents")
	b.says("All agents are paused.")
	if a := h.act("desk", "article.create", map[string]any{"site": "main", "slug": "x", "title": "x", "body": "x"}); !strings.Contains(a.raw, `"paused"`) {
		t.Errorf("it still works: %s", a.raw)
	}
	b.press("Let them go on")
	h.article("desk", "y", "y", "y")
}

func TestAnOwnerMakesRulesAndLends(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "edits")
	h.article("desk", "spring", "Spring opening", opening)
	b.open("/rules")
	b.fill("Different things an agent changes", "0")
	b.fill("Hours in which", "500")
	b.press("Save the limits")
	b.says("between 1 and 168 hours")
	b.open("/rules/main")
	b.tick("Write a new article")
	b.press("Save what waits")
	b.says("It holds from the next call on.")
	h.must("waiting", "desk", "article.create", map[string]any{"site": "main", "slug": "kale", "title": "Kale", "body": "Kale."})
	b.tick("Write a new article")
	b.press("Save what waits")
	b.says("It holds from the next call on.")
	h.article("desk", "dogs", "Dogs", "On a lead.")

	b.open("/lent")
	b.says("Nothing is lent.")
	b.fill("Why", "The fair is tomorrow.")
	b.press("Let it")
	b.says("works as freely as auto")
	h.must("done", "desk", "site.publish", map[string]any{"site": "main", "items": []any{map[string]any{"id": h.article("desk", "fair", "Fair", "Tomorrow.")}}})
	b.press("End now")
	b.says("Nothing is lent.")
	b.says("ended")
	h.article("desk", "walk", "Walk", "At night.")
	h.publish("desk", "")
}

func TestAPublishIsRolledBackAndForward(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "edits")
	id := h.article("desk", "spring", "Spring opening", opening)
	publish := func() {
		b.open("/changes/main")
		b.press("Publish what is ticked")
		b.says("Published.")
	}
	publish()
	h.must("done", "desk", "article.update", map[string]any{"article": id, "body": "It stays closed."})
	publish()
	b.until("the new text is live", func() bool { return strings.Contains(h.page("/posts/spring"), "stays closed") })
	b.press("Roll back to p1")
	b.says("Roll back to p1?")
	b.press("Roll back")
	b.says("Rolled back.")
	b.until("the old text is live", func() bool { return strings.Contains(h.page("/posts/spring"), "opens on 1 April") })
}

func TestTheAuditIsTakenAway(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "edits")
	h.article("desk", "sum", "=SUM(A1:A9)", "Text.")
	b.open("/audit?action=article.create")
	got := h.download(js[string](b, `() => [...document.querySelectorAll("a[download]")].find(a => a.innerText === "CSV").href`))
	if !strings.Contains(got, "article.create") || strings.Contains(got, "agent.create") {
		t.Errorf("taken away: %s", got)
	}
	if strings.Contains(got, ",=SUM") || strings.Contains(got, "\n=SUM") {
		t.Errorf("a cell that a spreadsheet would run: %s", got)
	}
	b.open("/audit?action=audit.export")
	b.says("audit.export")
}

func TestRemovingAsksForTheName(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	h.agent(b, "desk", "edits")
	id := h.article("desk", "spring", "Spring opening", opening)
	p := h.must("waiting", "desk", "article.remove", map[string]any{"article": id}).Proposal.ID
	b.open("/proposals/" + p + "/approve")
	b.fill("It removes something.", "Autumn")
	b.press("Yes, approve")
	b.says("What you typed is not its name.")
	b.fill("It removes something.", "spring opening")
	b.press("Yes, approve")
	b.says("carried out")
	if a := h.act("desk", "article.get", map[string]any{"article": id}); !strings.Contains(a.raw, `"status":"removed"`) {
		t.Errorf("it is still there: %s", a.raw)
	}
}

func TestSomebodyIsLetInAndGoesAgain(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	b.open("/people")
	b.fill("Name", "Tom Berg")
	b.fill("Email", "tom@example.org")
	b.fill("Role", "editor")
	b.press("Invite")
	b.says("Tom Berg is invited.")
	link := js[string](b, `() => document.querySelector(".secret pre").innerText`)
	tom := browse(t, h.url)
	tom.open(strings.TrimPrefix(link, h.url))
	tom.fill("Password", "another horse battery staple")
	tom.press("Come in")
	tom.says("Inbox")
	tom.open("/people")
	tom.silent("Change…")

	b.open("/people")
	b.press("Change…")
	b.fill("Role", "auditor")
	b.press("Give this role")
	b.says("auditor")
	b.press("Change…")
	b.press("End their seat")
	b.says("Their seat is ended.")
	tom.open("/changes")
	tom.says("You have no seat in this workspace")
}

func TestSomebodyIsForgotten(t *testing.T) {
	t.Parallel()
	h := serve(t)
	b := h.owner()
	b.open("/people")
	b.fill("Name", "Tom Berg")
	b.fill("Email", "tom@example.org")
	b.press("Invite")
	b.says("Tom Berg is invited.")
	b.open("/people")
	b.press("Change…")
	b.fill("To go on, type their name", "tom berg")
	b.press("Forget them")
	b.says("Forgotten.")
	b.silent("Tom")
	b.open("/audit")
	b.says("person.erase")
	b.silent("Tom")
}
