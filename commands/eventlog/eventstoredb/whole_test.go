package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/eventstoredb/fake"
	"assent/commands/eventlog/logtest"
	"assent/domain"
)

// Logs live longer than programs: how an event is spelt can never change.
func TestAnEventIsSpeltTheSameForEver(t *testing.T) {
	e := logtest.Event(`a"1`)
	at := time.Date(2026, 3, 14, 12, 0, 0, 123456789, time.FixedZone("far", 3600))
	got, err := spell(chain.Row{Record: domain.Record{Fresh: e}, Text: []byte(`{ "action":"<act>" }`)}, at)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"id":"ev_a\"1","revision":1,"at":"2026-03-14T11:00:00.123456789Z","envelope":{ "action":"<act>" }}`; string(got.Metadata) != want {
		t.Errorf("the metadata is %s", got.Metadata)
	}
	if want := "5aca1186-2830-5f34-958c-b26db531690b"; got.EventID.String() != want {
		t.Errorf("the id is %s", got.EventID)
	}
	if got.EventType != "article.updated" || string(got.Data) != string(e.Data) {
		t.Errorf("it is %s %s", got.EventType, got.Data)
	}
}

// admin is somebody at the server with the same client.
func admin(t *testing.T, s *fake.Server) *esdb.Client {
	t.Helper()
	conf, err := esdb.ParseConnectionString(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	conf.Logger = esdb.NoopLogging()
	c, err := esdb.NewClient(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// harms are what an administrator can do to a stream.
var harms = map[string]func(context.Context, *esdb.Client, string) error{
	"max count": func(ctx context.Context, c *esdb.Client, name string) error {
		var m esdb.StreamMetadata
		m.SetMaxCount(1)
		_, err := c.SetStreamMetadata(ctx, name, esdb.AppendToStreamOptions{}, m)
		return err
	},
	"max age": func(ctx context.Context, c *esdb.Client, name string) error {
		var m esdb.StreamMetadata
		m.SetMaxAge(time.Hour)
		_, err := c.SetStreamMetadata(ctx, name, esdb.AppendToStreamOptions{}, m)
		return err
	},
	"truncated": func(ctx context.Context, c *esdb.Client, name string) error {
		var m esdb.StreamMetadata
		m.SetTruncateBefore(1)
		_, err := c.SetStreamMetadata(ctx, name, esdb.AppendToStreamOptions{}, m)
		return err
	},
	"deleted": func(ctx context.Context, c *esdb.Client, name string) error {
		_, err := c.DeleteStream(ctx, name, esdb.DeleteStreamOptions{ExpectedRevision: esdb.Any{}})
		return err
	},
	"deleted for ever": func(ctx context.Context, c *esdb.Client, name string) error {
		_, err := c.TombstoneStream(ctx, name, esdb.TombstoneStreamOptions{ExpectedRevision: esdb.Any{}})
		return err
	},
}

func TestAStreamThatIsNotWholeIsRefused(t *testing.T) {
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			log, l := on(t, s)
			log.Must(logtest.To("a", 0, "a1", "a2"), logtest.To("b", 0, "b1"))
			a := "assent." + logtest.Article("a").String()
			if err := harm(t.Context(), admin(t, s), a); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the log does not notice", func() bool { return l.mirror.damage() != nil })

			shut(t, l)
			log.Must(logtest.To("b", 1, "b2"))
			log.Same("other stream", len(log.Stream(logtest.Article("b"))), 2)

			_, err := Open(t.Context(), s.URL(), time.Now)
			if !errors.Is(err, ErrDamaged) || !strings.Contains(fmt.Sprint(err), logtest.Article("a").String()) {
				t.Errorf("opening it: %v", err)
			}
			l = openAt(t, s.URL(), time.Now, Damaged())
			shut(t, l)
			if recs, err := l.ReadStream(t.Context(), logtest.Article("b"), 0); err != nil || len(recs) != 2 {
				t.Errorf("the rest is not read: %v", err)
			}
		})
	}
}

// shut says that the stream a is neither read nor written nor checked.
func shut(t *testing.T, l *Log) {
	t.Helper()
	_, read := l.ReadStream(t.Context(), logtest.Article("a"), 0)
	_, write := l.Append(t.Context(), logtest.To("a", 2, "a3"))
	_, both := l.Append(t.Context(), logtest.To("c", 0, "c1"), logtest.To("a", 2))
	for _, err := range []error{read, write, both} {
		if !errors.Is(err, ErrDamaged) || !errors.Is(err, commands.ErrUnavailable) {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestEventsMissingFromAStreamAreNoticedWhereItIsRead(t *testing.T) {
	s := serve(t)
	log, l := on(t, s)
	log.Must(logtest.To("a", 0, "a1", "a2", "a3"))
	s.Write("$$assent."+logtest.Article("a").String(), "$metadata", `{"$maxCount": 2}`)
	eventually(t, "the log does not notice", func() bool { return l.mirror.damage() != nil })
	l.mirror.mark(logtest.Article("a").String(), rules, []byte(`{}`)) // as if it had not heard yet
	_, err := l.ReadStream(t.Context(), logtest.Article("a"), 0)
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("the error is %v", err)
	}
}

func TestALimitThatIsTakenAwayMakesAStreamWholeAgain(t *testing.T) {
	s := serve(t)
	log, l := on(t, s)
	log.Must(logtest.To("a", 0, "a1", "a2"))
	for metadata, bad := range map[string]bool{`{"$maxCount": 1}`: true, `{"$acl": {}, "$tb": 0, "own": 1}`: false, `no json`: false} {
		s.Write("$$assent."+logtest.Article("a").String(), "$metadata", metadata)
		eventually(t, metadata+": the log does not notice", func() bool { return (l.mirror.damage() != nil) == bad })
	}
}

func TestEventsOfOthersAmongTheLogsStreamsAreTold(t *testing.T) {
	for name, write := range map[string]func(*fake.Server){
		"other metadata":   func(s *fake.Server) { s.Write("assent.article-home/x", "x", `{}`) },
		"no stream of one": func(s *fake.Server) { s.Write("assent.orders", "x", `{}`) },
		"a link":           func(s *fake.Server) { s.Write("assent.article-home/x", "$>", `0@orders`) },
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			log, l := on(t, s)
			log.Must(logtest.To("a", 0, "a1"))
			write(s)
			_, err := l.ReadAll(t.Context(), 0, 10)
			foreign(t, "reading", err)
			if recs, err := l.ReadAll(t.Context(), 0, 1); err != nil || len(recs) != 1 {
				t.Errorf("what is before it is not read: %v", err)
			}
			for _, last := range l.Follow(t.Context(), 0) {
				err = last
			}
			foreign(t, "following", err)
			foreign(t, "waiting", l.Wait(t.Context(), 1<<40))
			_, err = l.Head(t.Context())
			foreign(t, "the head", err)
			_, err = Open(t.Context(), s.URL(), time.Now)
			foreign(t, "opening", err)
		})
	}
}

func foreign(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, ErrForeign) {
		t.Errorf("%s: the error is %v", what, err)
	}
}

func TestWhatElseIsOnTheServerIsNoneOfTheLogs(t *testing.T) {
	s := serve(t)
	log, l := on(t, s)
	other, _ := on(t, s, Prefix("assent_b."))
	log.Must(logtest.To("a", 0, "a1"))
	other.Must(logtest.To("a", 0, "o1"))
	s.Write("assentx", "x", `{}`)
	s.Write("$stats-1", "$statsCollected", `{}`)
	s.Write("$$assent_b."+logtest.Article("a").String(), "$metadata", `{"$maxCount": 1}`)
	log.Must(logtest.To("a", 1, "a2"))
	log.Same("events", len(log.All()), 2)
	log.Same("others'", len(other.All()), 1)
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestVerifyPassesASoundLogAndTellsHowFarItIs(t *testing.T) {
	log, l := on(t, serve(t))
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		w := logtest.To(fmt.Sprint(i), 0)
		for j := range 700 {
			w.Events = append(w.Events, logtest.Event(fmt.Sprint(i, j)))
		}
		log.Must(w)
	}
	var done, total domain.Position
	calls := 0
	if err := l.Verify(t.Context(), func(d, of domain.Position) { done, total = d, of; calls++ }); err != nil {
		t.Fatal(err)
	}
	log.Same("progress", []domain.Position{done, total}, []domain.Position{log.End().Position, log.End().Position})
	log.Same("calls", calls, 3)
}

func TestVerifyNamesTheFirstWrongPosition(t *testing.T) {
	for name, c := range map[string]struct {
		tamper func(*fake.Server, domain.Position)
		want   int // place of the event; -1: the whole
	}{
		"an event missing": {func(s *fake.Server, p domain.Position) { s.Tamper(uint64(p), nil) }, 2},
		"an event changed": {func(s *fake.Server, p domain.Position) { s.Tamper(uint64(p), []byte(`{"title": "x"}`)) }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			log, l := on(t, s)
			log.Must(logtest.To("a", 0, "a1", "a2", "a3"), logtest.To("b", 0, "b1"))
			all := log.All()
			log.End()
			c.tamper(s, all[1].Position)
			err := l.Verify(t.Context(), nil)
			broken, ok := errors.AsType[*chain.Broken](err)
			if !ok || c.want >= 0 && broken.Position != all[c.want].Position || c.want < 0 && broken.Position != 0 {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestABookmarkKeepsTheChainWithoutReadingTheLogAgain(t *testing.T) {
	s := serve(t)
	path := filepath.Join(t.TempDir(), "bookmark")
	log, l := on(t, s, Bookmark(path))
	for i := range 100 {
		log.Must(logtest.To("a", domain.Version(i), fmt.Sprint(i)))
	}
	head := log.End()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.Tamper(uint64(head.Position)-1, nil) // a place where no event is: nothing
	again, l := on(t, s, Bookmark(path))
	if at := l.mirror.good.Last; at != head.Position {
		t.Errorf("the bookmark is at %d", at)
	}
	log.Same("head", again.End(), head)
	again.Must(logtest.To("a", 100, "100"))
	whole, _ := on(t, s)
	log.Same("the chain as one who reads it all comes to", whole.End(), again.End())
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestWhatWasChangedBeforeABookmarkIsFoundByVerify(t *testing.T) {
	s := serve(t)
	path := filepath.Join(t.TempDir(), "bookmark")
	log, l := on(t, s, Bookmark(path))
	log.Must(logtest.To("a", 0, "a1", "a2", "a3"))
	all := log.All()
	log.End()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.Tamper(uint64(all[0].Position), []byte(`{}`))
	_, l = on(t, s, Bookmark(path))
	if broken, ok := errors.AsType[*chain.Broken](l.Verify(t.Context(), nil)); !ok {
		t.Errorf("the error is %v", broken)
	}
}

func TestABookmarkThatDoesNotFitIsNotBelieved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bookmark")
	full := serve(t)
	log, l := on(t, full, Bookmark(path))
	for i := range 20 {
		log.Must(logtest.To("a", domain.Version(i), fmt.Sprint(i)))
	}
	log.End()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text    string
		options []Option
		server  *fake.Server
	}{
		"no bookmark at all": {"hello", nil, full},
		"of another log":     {string(kept), []Option{Prefix("other.")}, full},
		"of another server":  {string(kept), nil, serve(t)},
		"at another event":   {strings.Replace(string(kept), `"position":`, `"position":1`, 1), nil, full},
		"of another time":    {strings.Replace(string(kept), "2026-", "2025-", 1), nil, full},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			log, l := on(t, c.server, append(c.options, Bookmark(path))...)
			whole, _ := on(t, c.server, c.options...)
			log.Same("head", log.End(), whole.End())
			if err := l.Verify(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestABookmarkIsNotMovedPastDamage(t *testing.T) {
	s := serve(t)
	path := filepath.Join(t.TempDir(), "bookmark")
	log, l := on(t, s, Bookmark(path))
	log.Must(logtest.To("a", 0, "a1"))
	log.End()
	s.Write("$$assent."+logtest.Article("a").String(), "$metadata", `{"$maxCount": 1}`)
	eventually(t, "the log does not notice", func() bool { return l.mirror.damage() != nil })
	log.Must(logtest.To("b", 0, "b1"))
	log.End()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), s.URL(), time.Now, Bookmark(path)); !errors.Is(err, ErrDamaged) {
		t.Errorf("the error is %v", err)
	}
}

func TestTimesDoNotRunBackwardsAfterAnotherProcessWrote(t *testing.T) {
	s := serve(t)
	one, _ := on(t, s)
	one.Clock.Move(time.Hour)
	two, l := on(t, s)
	at := one.Must(logtest.To("a", 0, "a1")).At
	if err := l.Wait(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	one.Same("time", two.Must(logtest.To("b", 0, "b1")).At, at)
}
