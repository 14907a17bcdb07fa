package projections_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"assent/domain"
	"assent/domain/action"
	"assent/domain/agent"
	"assent/domain/article"
	"assent/domain/containment"
	"assent/domain/live"
	"assent/domain/page"
	"assent/domain/person"
	"assent/domain/policy"
	"assent/domain/proposal"
	"assent/domain/site"
	"assent/projections"
)

// twins is a log of two workspaces in which everything has the same ids, and
// every text names its workspace.
func twins(t *testing.T) *journal {
	j := newJournal(t)
	for _, ws := range []string{"home", "homer"} { // one name begins with the other
		smallSiteIn(j, ws)
		in := func(category, id string) domain.Stream {
			return domain.Stream{Category: category, Workspace: ws, ID: id}
		}
		j.say(byPerson("act_agent", "agent.create"), in("agent", "agent_1"), agent.Created{Person: "person in " + ws, Mode: policy.Edits})
		j.say(byPerson("act_seat", "person.seat"), in("person", "person_1"), person.Seated{Role: policy.Role("role in " + ws)})
		j.say(byPerson("act_ws", "workspace.update"), in("workspace", "settings"), limitOf(len(ws)))
		j.say(byAgent("act_prop", "site.publish"), in("proposal", "prop_1"), proposal.Filed{Asker: domain.Principal{Kind: "agent", ID: "agent_1"}, Headline: "Publish in " + ws, Expires: start},
			proposal.Called{Part: 1, Action: "site.publish", Args: jsonOf(live.PublishArgs{Site: "main", Items: []live.Wanted{{ID: "art_1", Version: 2}}}), Target: in("live", "main").String()})
	}
	// more in one of them, so that counting over both would show
	j.say(byAgent("act_more", "article.create"), domain.Stream{Category: "article", Workspace: "homer", ID: "art_3"}, article.Created{Site: "main", Collection: "posts", Slug: "more", Title: "More in homer", Body: "x"})
	j.say(byPerson("act_pub2", "site.publish"), domain.Stream{Category: "live", Workspace: "homer", ID: "main"}, live.Published{Items: []live.Item{{ID: "art_2", Version: 1, Address: "/de/notes/herbst"}, {ID: "page_1"}}})
	return j
}

// asks is every way to read, answered in a workspace as JSON.
func asks(s *projections.Store) map[string]func(t *testing.T, ws string) (any, error) {
	view := func(t *testing.T, ws string, which site.PreviewArgs) projections.View {
		v, err := s.SiteAt(t.Context(), ws, which)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	live := site.PreviewArgs{Site: "main", Version: "live"}
	return map[string]func(t *testing.T, ws string) (any, error){
		"Sites": func(t *testing.T, ws string) (any, error) {
			l, _, err := s.Sites(t.Context(), ws, action.Page{})
			return l, err
		},
		"Site": func(t *testing.T, ws string) (any, error) { return s.Site(t.Context(), ws, "main") },
		"Pages": func(t *testing.T, ws string) (any, error) {
			l, _, err := s.Pages(t.Context(), ws, page.ListArgs{Site: "main"})
			return l, err
		},
		"Page": func(t *testing.T, ws string) (any, error) {
			return s.Page(t.Context(), ws, page.GetArgs{Site: "main", Path: "/about"})
		},
		"Articles": func(t *testing.T, ws string) (any, error) {
			l, _, err := s.Articles(t.Context(), ws, article.ListArgs{Site: "main", Query: "spring"})
			return l, err
		},
		"Article": func(t *testing.T, ws string) (any, error) {
			return s.Article(t.Context(), ws, article.GetArgs{Site: "main", Slug: "spring"})
		},
		"Versions": func(t *testing.T, ws string) (any, error) {
			l, _, err := s.Versions(t.Context(), ws, site.VersionsArgs{Site: "main"})
			return sealedWords(l), err
		},
		"Compare": func(t *testing.T, ws string) (any, error) {
			return s.Compare(t.Context(), ws, site.CompareArgs{Item: "art_1"})
		},
		"Pending": func(t *testing.T, ws string) (any, error) {
			l, err := s.Pending(t.Context(), ws, "main", 0)
			return fmt.Sprint(ws, len(l)), err
		},
		"PendingChanges": func(t *testing.T, ws string) (any, error) { return s.PendingChanges(t.Context(), ws, "main") },
		"Item":           func(t *testing.T, ws string) (any, error) { return s.Item(t.Context(), ws, "art_1", 1) },
		"SiteAt": func(t *testing.T, ws string) (any, error) {
			return view(t, ws, site.PreviewArgs{Site: "main", Proposal: "prop_1"}).Settings, nil
		},
		"Addresses": func(t *testing.T, ws string) (any, error) {
			m, err := s.Addresses(t.Context(), view(t, ws, site.PreviewArgs{Site: "main"}))
			return fmt.Sprint(ws, len(m)), err
		},
		"Resolve": func(t *testing.T, ws string) (any, error) {
			return s.Resolve(t.Context(), view(t, ws, live), "/posts/spring")
		},
		"Listing": func(t *testing.T, ws string) (any, error) {
			l, _, err := s.Listing(t.Context(), view(t, ws, live), "", 0, 0)
			return l, err
		},
		"Audit": func(t *testing.T, ws string) (any, error) {
			l, _, err := s.Audit(t.Context(), ws, projections.AuditArgs{Agent: "agent_1"})
			return l, err
		},
		"EachAudit": func(t *testing.T, ws string) (any, error) {
			var l []projections.Entry
			err := s.EachAudit(t.Context(), ws, projections.AuditArgs{Agent: "agent_1", Outcome: "done"}, s.Status().Position, func(e projections.Entry) error {
				l = append(l, e)
				return nil
			})
			return l, err
		},
		"Entry": func(t *testing.T, ws string) (any, error) { return s.Entry(t.Context(), ws, "act_edit") },
		"Live": func(t *testing.T, ws string) (any, error) {
			m, err := s.Addresses(t.Context(), view(t, ws, live))
			return ws + strings.Join(slices.Sorted(maps.Keys(m)), ""), err
		},
		"History": func(t *testing.T, ws string) (any, error) {
			l, _, err := s.History(t.Context(), ws, "art_1", action.Page{})
			return fmt.Sprint(ws, len(l), string(l[len(l)-2].Sealed.Box)), err
		},
		"AsOf": func(t *testing.T, ws string) (any, error) {
			l, _, err := s.AsOf(projections.Moment{Position: s.Status().Position}).Articles(t.Context(), ws, article.ListArgs{Site: "main", Query: "spring"})
			return l, err
		},
		"Trace": func(t *testing.T, ws string) (any, error) { return s.Trace(t.Context(), ws, "act_edit", 0) },
		"Usage": func(t *testing.T, ws string) (any, error) {
			u, err := s.Usage(t.Context(), ws, time.Time{})
			return fmt.Sprint(ws, len(u.People)), err
		},
		"Lines": func(t *testing.T, ws string) (any, error) { return s.Lines(t.Context(), ws, "act_edit", 0) },
		"Before": func(t *testing.T, ws string) (any, error) {
			at, err := s.Before(t.Context(), ws, start.Add(time.Hour), s.Status().Position)
			return fmt.Sprint(ws, at), err
		},
		"TakenBack": func(t *testing.T, ws string) (any, error) {
			gone, err := s.TakenBack(t.Context(), ws, []domain.ID{"act_edit", "act_nobody"}, 0)
			return fmt.Sprint(ws, len(gone)), err
		},
		"Touched": func(t *testing.T, ws string) (any, error) {
			l, err := s.Touched(t.Context(), ws, containment.Scope{Agent: "agent_1"}, "", 10, 0)
			return fmt.Sprint(ws, len(l), l), err
		},
		"Proposals": func(t *testing.T, ws string) (any, error) {
			l, _, err := s.Proposals(t.Context(), ws, projections.ProposalArgs{Status: "waiting"})
			return l, err
		},
		"Proposal": func(t *testing.T, ws string) (any, error) { return s.Proposal(t.Context(), ws, "prop_1") },
		"Waiting": func(t *testing.T, ws string) (any, error) {
			n, err := s.Waiting(t.Context(), ws, domain.Principal{})
			return fmt.Sprint(ws, n), err
		},
		"Agents": func(t *testing.T, ws string) (any, error) {
			l, _, err := s.Agents(t.Context(), ws, action.Page{})
			return l, err
		},
		"Agent":  func(t *testing.T, ws string) (any, error) { return s.Agent(t.Context(), ws, "agent_1") },
		"People": func(t *testing.T, ws string) (any, error) { return s.People(t.Context(), ws) },
		"Role":   func(t *testing.T, ws string) (any, error) { return s.Role(t.Context(), ws, "person_1") },
		"Rules": func(t *testing.T, ws string) (any, error) {
			r, err := s.Rules(t.Context(), ws, "")
			return fmt.Sprint(ws, r.AutoPublishLimit), err
		},
		"Workspace": func(t *testing.T, ws string) (any, error) {
			w, err := s.Workspace(t.Context(), ws)
			return fmt.Sprint(ws, w.AutoPublishLimit), err
		},
	}
}

func sealedWords(list []projections.Version) (words []string) {
	for _, v := range list {
		if v.Sealed != nil {
			words = append(words, string(v.Sealed.Box))
		}
	}
	return words
}

// counts are what the answers that name no workspace must say.
var counts = map[string]string{
	"Pending home": "home2", "Pending homer": "homer3", "Live home": "home/about/posts/spring", "Live homer": "homer/de/notes/herbst/posts/spring",
	"Addresses home": "home3", "Addresses homer": "homer4",
	"Usage home": "home0", "Usage homer": "homer0",
	"Before home": "home12", "Before homer": "homer28", "TakenBack home": "home0", "TakenBack homer": "homer0",
	"Waiting home": "home1", "Waiting homer": "homer1", "Rules home": "home4", "Rules homer": "homer5", "Workspace home": "home4", "Workspace homer": "homer5",
}

func TestTwinWorkspacesNeverSeeEachOther(t *testing.T) {
	s := folded(t, twins(t))
	all := asks(s)
	for name, ask := range all {
		for _, ws := range []string{"home", "homer"} {
			got, err := ask(t, ws)
			if err != nil {
				t.Errorf("%s in %s: %v", name, ws, err)
				continue
			}
			doc, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			text := string(doc)
			if want, ok := counts[name+" "+ws]; ok && text != fmt.Sprintf("%q", want) {
				t.Errorf("%s in %s says %s, want %s", name, ws, text, want)
			}
			other := strings.Count(text, "homer")
			if own := strings.Count(text, "home") - other; ws == "home" && (other > 0 || own == 0) || ws == "homer" && (own > 0 || other == 0) {
				t.Errorf("%s in %s answers with another workspace: %s", name, ws, text)
			}
		}
	}
	kind := reflect.TypeFor[*projections.Store]()
	for m := range kind.NumMethod() {
		switch name := kind.Method(m).Name; name {
		case "Close", "Run", "Status", "Wait", "Unfinished", "Containing", "EndingKeys", "Models", "Generations", "Rebuild", "SwitchBack": // of no workspace, or of all
		default:
			if all[name] == nil {
				t.Errorf("%s can be asked and is not asked here", name)
			}
		}
	}
}

func TestAnUnknownWorkspaceHasNothing(t *testing.T) {
	s := folded(t, twins(t))
	for _, ws := range []string{"", "hom", "home/", "home'", "%"} {
		if _, err := s.Article(t.Context(), ws, article.GetArgs{Article: "art_1"}); !errors.Is(err, notFound) {
			t.Errorf("%q: %v", ws, err)
		}
		if list, _, err := s.Audit(t.Context(), ws, projections.AuditArgs{}); err != nil || len(list) != 0 {
			t.Errorf("%q: %v %v", ws, list, err)
		}
		if _, err := s.SiteAt(t.Context(), ws, site.PreviewArgs{Site: "main"}); !errors.Is(err, notFound) {
			t.Errorf("%q: %v", ws, err)
		}
	}
	if got, err := s.Unfinished(t.Context(), start.Add(time.Hour)); err != nil || len(got) != 2 {
		t.Errorf("what is unfinished in all: %v %v", got, err)
	}
}
