package reactions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"assent/domain"
	"assent/domain/live"
	"assent/domain/proposal"
	"assent/domain/vocab"
	"assent/domain/webhook"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
)

// Event is what others are told: CloudEvents 1.0 in JSON, small and of its own
// making, so that what the log says inside can change without them. It holds ids,
// numbers and addresses of the site, and never what a person wrote.
type Event struct {
	SpecVersion string    `json:"specversion"`
	ID          domain.ID `json:"id"` // of the event in the log: the same however often it is told
	Source      string    `json:"source"`
	Type        string    `json:"type"` // assent.site.published.v1
	Subject     string    `json:"subject"`
	Time        time.Time `json:"time"`
	ContentType string    `json:"datacontenttype"`
	Position    string    `json:"position"` // in the log
	Sequence    string    `json:"sequence"` // among those of its subject
	Data        any       `json:"data"`
}

// ContentType is what an Event is sent as.
const ContentType = "application/cloudevents+json"

// typeOf is the public name of an event with the version of what it holds.
func typeOf(name string) string { return "assent." + name + ".v1" }

// What is known of a message besides its text.
const (
	metaName      = "name" // site.published
	metaWorkspace = "workspace"
	metaStream    = "stream"
	metaVersion   = "version"
	metaCode      = "code" // why it was not delivered
)

// saying is how one word of the log is told outside. event reads what the record
// says, where that is needed.
type saying struct {
	name string
	data func(p publicity, r domain.Record, event any) any
	read bool
}

// publicity turns events of the log into events for others.
type publicity struct {
	words *vocab.Vocabulary
	link  func(proposal string) string
}

// sayings is everything that is told: what is not here stays inside.
var sayings = map[string]saying{
	"article.created":   {"content.changed", change(domain.Added), false},
	"article.updated":   {"content.changed", change(domain.Edited), false},
	"article.removed":   {"content.changed", change(domain.Removed), false},
	"article.restored":  {"content.changed", change(domain.Added), false},
	"page.created":      {"content.changed", change(domain.Added), false},
	"page.updated":      {"content.changed", change(domain.Edited), false},
	"page.removed":      {"content.changed", change(domain.Removed), false},
	"page.restored":     {"content.changed", change(domain.Added), false},
	"site.created":      {"content.changed", change(domain.Added), false},
	"site.updated":      {"content.changed", change(domain.Edited), false},
	"live.published":    {"site.published", published, true},
	"proposal.filed":    {"proposal.filed", filed, true},
	"proposal.reminded": {"proposal.reminded", decided, false},
	"proposal.approved": {"proposal.approved", decided, false},
	"proposal.declined": {"proposal.declined", decided, false},
	"proposal.expired":  {"proposal.expired", decided, false},
	"proposal.settled":  {"proposal.settled", settled, true},

	"proposal.withdrawn": {"proposal.withdrawn", decided, false},
	webhook.Test:         {webhook.Test, tested, false},
}

type changedData struct {
	Kind    string         `json:"kind"`
	ID      string         `json:"id"`
	Version domain.Version `json:"version"`
	Change  string         `json:"change"` // added | edited | removed
}

func change(what string) func(publicity, domain.Record, any) any {
	return func(_ publicity, r domain.Record, _ any) any {
		return changedData{r.Stream.Category, r.Stream.ID, r.Version, what}
	}
}

// mostItems is how many things one message names: whoever wants all asks.
const mostItems = 200

type publishedData struct {
	Site  string     `json:"site"`
	Items []itemData `json:"items"`
	More  int        `json:"more,omitempty"` // that are not named
}

type itemData struct {
	ID      string         `json:"id"`
	Version domain.Version `json:"version"` // 0: no longer live
	Address string         `json:"address,omitempty"`
}

func published(_ publicity, r domain.Record, event any) any {
	items := event.(live.Published).Items
	d := publishedData{Site: r.Stream.ID, Items: []itemData{}, More: max(0, len(items)-mostItems)}
	for _, it := range items[:min(len(items), mostItems)] {
		d.Items = append(d.Items, itemData{it.ID, it.Version, it.Address})
	}
	return d
}

type proposalData struct {
	Proposal string    `json:"proposal"`
	URL      string    `json:"url"` // where people decide
	Cause    string    `json:"cause,omitempty"`
	Changes  int       `json:"changes,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
	Results  []endData `json:"results,omitempty"`
}

type endData struct {
	Part    int    `json:"part"`
	Outcome string `json:"outcome"` // done | idle | refused
	Code    string `json:"code,omitempty"`
}

func decided(p publicity, r domain.Record, _ any) any {
	return proposalData{Proposal: r.Stream.ID, URL: p.link(r.Stream.ID)}
}

func filed(p publicity, r domain.Record, event any) any {
	card := event.(proposal.Filed)
	return proposalData{Proposal: r.Stream.ID, URL: p.link(r.Stream.ID), Cause: card.Cause, Changes: card.Changes, Expires: card.Expires.UTC()}
}

func settled(p publicity, r domain.Record, event any) any {
	d := proposalData{Proposal: r.Stream.ID, URL: p.link(r.Stream.ID)}
	for _, end := range event.(proposal.Settled).Results {
		d.Results = append(d.Results, endData{end.Part, end.Outcome, end.Code})
	}
	return d
}

func tested(_ publicity, r domain.Record, _ any) any {
	return struct {
		Webhook string `json:"webhook"`
	}{r.Stream.ID}
}

// tell makes the message of a record, or nil for one that nobody is told of.
func (p publicity) tell(_ context.Context, r domain.Record) (*Told, error) {
	say, told := sayings[r.Word]
	if !told {
		return nil, nil
	}
	var event any
	if say.read {
		read, err := p.words.Read(r)
		if err != nil {
			return nil, err
		}
		if _, unknown := read.Event.(vocab.Unknown); unknown {
			return nil, fmt.Errorf("%s was written by a newer version (revision %d); upgrade, and it is told then", r.Word, r.Revision)
		}
		event = read.Event
	}
	body, err := json.Marshal(Event{
		SpecVersion: "1.0", ID: r.ID, Source: "/workspaces/" + r.Stream.Workspace, Type: typeOf(say.name),
		Subject: r.Stream.Category + "/" + r.Stream.ID, Time: r.At.UTC(), ContentType: "application/json",
		Position: strconv.FormatInt(int64(r.Position), 10), Sequence: strconv.FormatInt(int64(r.Version), 10),
		Data: say.data(p, r, event),
	})
	if err != nil {
		return nil, err
	}
	m := message.NewMessage(string(r.ID), body)
	m.Metadata = message.Metadata{metaName: say.name, metaWorkspace: r.Stream.Workspace, metaStream: r.Stream.String(), metaVersion: strconv.FormatInt(int64(r.Version), 10)}
	middleware.SetCorrelationID(string(cmp.Or(r.Envelope.Correlation, r.Envelope.Action)), m)
	return &Told{Order: r.Stream.String(), Message: m}, nil
}
