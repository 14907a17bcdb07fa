package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/logtest"
	"assent/commands/eventlog/postgres/pgtest"
	"assent/domain"
	"assent/migrations"
)

// inTime fails the test if do takes longer than any caller would wait.
func inTime(t *testing.T, do func() error) error {
	t.Helper()
	start := time.Now()
	err := do()
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
	return err
}

// roaded is a log that is reached by a road.
func roaded(t *testing.T) (*logtest.Log, *road) {
	t.Helper()
	r, where := newRoad(t, made(t))
	return logtest.NewLog(t, func(t *testing.T, clock func() time.Time) commands.Log {
		return openAt(t, where, clock, AnswerWithin(time.Second))
	}), r
}

func TestAServerThatCannotBeReachedIsAnErrorWithinSeconds(t *testing.T) {
	log, r := roaded(t)
	where := log.Log.(*Log).config.ConnString()
	open := func() error {
		_, err := Open(t.Context(), where, time.Now, AnswerWithin(time.Second))
		return err
	}
	for name, fault := range map[string]func(*road){
		"turned away": func(r *road) { r.closed, r.silent = true, false },
		"silent":      func(r *road) { r.closed, r.silent = false, true },
	} {
		r.set(fault)
		r.cut()
		if err := inTime(t, open); err == nil {
			t.Errorf("%s: it was opened", name)
		}
		err := inTime(t, func() error {
			_, err := log.Append(t.Context(), logtest.To("a", 0, "a1"))
			return err
		})
		if !errors.Is(err, commands.ErrUnavailable) && !errors.Is(err, commands.ErrUnknown) {
			t.Errorf("%s: the append is answered %v", name, err)
		}
	}
	r.set(func(r *road) { r.closed, r.silent = false, false })
	r.cut()
	log.Must(logtest.To("a", 0, "a1"))
	verified(t, log.Log.(*Log))
}

func TestAnAppendWhoseAnswerIsLostIsUnknownAndAskingAgainTells(t *testing.T) {
	log, r := roaded(t)
	log.Must(logtest.To("a", 0, "a1"))
	r.set(func(r *road) { r.swallow = "INSERT 0 " }) // the server's word for a commit of the one statement
	if _, err := log.Append(t.Context(), logtest.To("a", 1, "a2")); !errors.Is(err, commands.ErrUnknown) {
		t.Fatalf("the error is %v", err)
	}
	r.set(func(r *road) { r.swallow = "" })
	log.Same("position", log.Must(logtest.To("a", 1, "a2")).Position, domain.Position(2))
	log.Same("events", len(log.All()), 2)
	verified(t, log.Log.(*Log))
}

func TestALogHeldByAnotherIsBusyAndReadsGoOn(t *testing.T) {
	where := made(t)
	log := logtest.NewLog(t, func(t *testing.T, clock func() time.Time) commands.Log {
		return openAt(t, where, clock, BusyFor(10*time.Millisecond))
	})
	log.Must(logtest.To("a", 0, "a1"))
	other, err := pgx.Connect(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.Background())
	if _, err := other.Exec(t.Context(), "BEGIN; SELECT FROM head FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	if err := log.Fails(logtest.To("a", 1, "a2")); !errors.Is(err, commands.ErrBusy) {
		t.Errorf("the error is %v", err)
	}
	if _, err := other.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	log.Must(logtest.To("a", 1, "a2"))
}

func TestWhatTheDatabaseRefusesFailsAlone(t *testing.T) {
	log, _ := fresh(t)
	bad := logtest.To("b", 0, "b1")
	bad.Events[0].Word = "article\x00updated" // no text in PostgreSQL
	if err := log.Fails(bad); !errors.Is(err, commands.ErrUnavailable) {
		t.Errorf("the error is %v", err)
	}
	log.Must(logtest.To("a", 0, "a1"))
}

func TestAWriterStopsWhenWhatWasCommittedIsGone(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	log.Must(logtest.To("a", 1, "a2"))
	pgtest.Exec(t, l.config.ConnString(), `ALTER TABLE events DISABLE TRIGGER USER; DELETE FROM events WHERE position = 2;
		UPDATE head SET position = 1, chain = (SELECT link FROM events WHERE position = 1)`)
	for range 2 {
		_, err := log.Append(t.Context(), logtest.To("a", 1, "x1"))
		var broken *chain.Broken
		if !errors.Is(err, commands.ErrUnavailable) || !errors.As(err, &broken) || broken.Position != 2 {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestVerifyNamesTheFirstWrongPosition(t *testing.T) {
	for name, c := range map[string]struct {
		tamper string
		want   domain.Position
	}{
		"data":       {`UPDATE events SET data = '{"title": "x"}' WHERE position = 2`, 2},
		"envelope":   {`UPDATE events SET envelope = envelope || ' ' WHERE position = 3`, 3},
		"time":       {`UPDATE events SET recorded_at = recorded_at + 1 WHERE position = 1`, 1},
		"word":       {`UPDATE events SET word = 'article.removed' WHERE position = 4`, 4},
		"stream":     {`UPDATE streams SET name = 'article-home/x' WHERE id = 1`, 1},
		"no stream":  {`DELETE FROM streams WHERE id = 3`, 3},
		"removed":    {`DELETE FROM events WHERE position = 2`, 2},
		"cut":        {`DELETE FROM events WHERE position = 4`, 4},
		"moved":      {`UPDATE events SET position = 9 WHERE position = 4; UPDATE head SET position = 9`, 4},
		"head":       {`UPDATE head SET chain = decode(repeat('00', 32), 'hex')`, 4},
		"head, time": {`UPDATE head SET recorded_at = recorded_at + 1`, 4},
	} {
		t.Run(name, func(t *testing.T) {
			log, l := fresh(t)
			log.Must(logtest.To("a", 0, "a1", "a2"), logtest.To("b", 0, "b1"))
			log.Must(logtest.To("a", 2, "a3"))
			verified(t, l)
			pgtest.Exec(t, l.config.ConnString(), "ALTER TABLE events DISABLE TRIGGER USER; ALTER TABLE streams DISABLE TRIGGER USER; "+c.tamper)
			err := l.Verify(t.Context(), nil)
			var broken *chain.Broken
			if !errors.As(err, &broken) || broken.Position != c.want {
				t.Errorf("the error is %v; it is position %d", err, c.want)
			}
		})
	}
}

func TestTheServersOwnConnectionsCannotChangeOrRemoveEvents(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	for _, q := range []string{"UPDATE events SET data = '{}'", "DELETE FROM events", "TRUNCATE events", "DELETE FROM head", "DROP TABLE events"} {
		if _, err := l.reads.Exec(t.Context(), q); err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("%s is answered %v; it should not be allowed", q, err)
		}
	}
}

func TestNotEvenTheOwnerChangesOrRemovesEventsByAccident(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	owner, err := pgx.Connect(t.Context(), l.config.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(context.Background())
	for _, q := range []string{"UPDATE events SET data = '{}'", "DELETE FROM events", "TRUNCATE events", "DELETE FROM head"} {
		if _, err := owner.Exec(t.Context(), q); err == nil {
			t.Errorf("%s: done", q)
		}
	}
}

func TestPeopleCanReadTheLog(t *testing.T) {
	log, l := fresh(t)
	log.Must(logtest.To("a", 0, "a1"))
	var stream, action, principal string
	if err := l.reads.QueryRow(t.Context(), "SELECT stream, action, principal FROM history").Scan(&stream, &action, &principal); err != nil {
		t.Fatal(err)
	}
	log.Same("row", []string{stream, action, principal}, []string{"article-home/a", "act_a1", "agent:agent_1"})
}

func TestWhatIsNoLogIsNotOpenedAndLeftAsItIs(t *testing.T) {
	newer := schema(t)
	openAt(t, newer, time.Now)
	pgtest.Exec(t, newer, "INSERT INTO "+migrations.TablePostgres+" (version_id, is_applied) VALUES (9999, true)")
	foreign := schema(t)
	pgtest.Exec(t, foreign, "CREATE TABLE head (position bigint)")
	cut := schema(t)
	openAt(t, cut, time.Now)
	pgtest.Exec(t, cut, "UPDATE head SET position = 2")
	for name, c := range map[string]struct {
		where string
		want  func(error) bool
	}{
		"newer":     {newer, func(err error) bool { return errors.Is(err, ErrNewer) }},
		"foreign":   {foreign, func(err error) bool { return errors.Is(err, ErrForeign) }},
		"no schema": {pgtest.With(t, newer, "search_path", "nowhere"), func(err error) bool { return errors.Is(err, ErrNoSchema) }},
		"cut": {cut, func(err error) bool {
			_, broken := errors.AsType[*chain.Broken](err)
			return broken
		}},
		"no database": {"postgres://127.0.0.1:1/nowhere", func(err error) bool { return err != nil }},
		"no URL":      {"postgres://[", func(err error) bool { return err != nil }},
	} {
		err := inTime(t, func() error {
			_, err := Open(t.Context(), c.where, time.Now)
			return err
		})
		if !c.want(err) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	pgtest.Exec(t, foreign, "INSERT INTO head (position) VALUES (1)")
}
