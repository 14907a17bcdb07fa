package projections_test

import (
	"testing"

	"assent/domain"
	"assent/domain/address"
	"assent/domain/article"
	"assent/domain/live"
	"assent/domain/page"
	"assent/domain/site"
)

// byPerson is the envelope of a person's own action.
func byPerson(act domain.ID, name string) domain.Envelope {
	return domain.Envelope{Action: act, Name: name, Principal: domain.Principal{Kind: domain.KindPerson, ID: "person_1"}, Via: domain.Via{Session: "session_1"}}
}

func byAgent(act domain.ID, name string) domain.Envelope {
	e := by(act)
	e.Name = name
	return e
}

// smallSite is a site with two articles and a page: all but the second article
// were published (p1), and the first was edited since.
func smallSite(tb testing.TB) *journal {
	tb.Helper()
	j := newJournal(tb)
	smallSiteIn(j, "home")
	return j
}

func smallSiteIn(j *journal, ws string) {
	in := func(category, id string) domain.Stream {
		return domain.Stream{Category: category, Workspace: ws, ID: id}
	}
	j.say(byPerson("act_site", "site.create"), in("site", "main"), site.Created{Title: "Main in " + ws, Locale: "en"})
	j.say(byPerson("act_page", "page.create"), address.Of(ws, "main", "/about"), address.Taken{Holder: in("page", "page_1").String()})
	j.say(byPerson("act_page", "page.create"), in("page", "page_1"), page.Created{Site: "main", Path: "/about", Title: "About " + ws, Body: "We grow."})
	j.say(byAgent("act_art1", "article.create"), address.Of(ws, "main", "/posts/spring"), address.Taken{Holder: in("article", "art_1").String()})
	j.say(byAgent("act_art1", "article.create"), in("article", "art_1"), article.Created{
		Site: "main", Collection: "posts", Slug: "spring", Title: "Spring in " + ws, Summary: "Green.", Body: "Asparagus is back.",
		Tags: []string{"Food", "events"}, Authors: []string{"Ann"}, Date: "2026-03-01", Meta: map[string]any{"mood": "good"},
	})
	publish := byPerson("act_pub1", "site.publish")
	publish.Reason = &domain.Sealed{Person: "person_1", Box: []byte("sealed " + ws)}
	j.say(publish, in("live", "main"), live.Published{Items: []live.Item{
		{ID: "main", Version: 1}, {ID: "page_1", Version: 1, Address: "/about"}, {ID: "art_1", Version: 1, Address: "/posts/spring"},
	}})
	j.say(byAgent("act_edit", "article.update"), in("article", "art_1"), article.Updated{Title: new("Spring menu in " + ws), Body: new("Asparagus and ÄPFEL.")})
	j.say(byAgent("act_art2", "article.create"), in("article", "art_2"), article.Created{Site: "main", Collection: "notes", Locale: "de", Slug: "herbst", Title: "Herbst", Body: "Äpfel.", Date: "2026-10-01"})
}
