package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A word is a transaction that the next append may have to wait for.
func TestNothingIsSaidWhereNobodyElseListens(t *testing.T) {
	l := openAt(t, made(t), time.Now)
	var conns [2]*pgx.Conn
	for i := range conns {
		c, err := connect(t.Context(), l.config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		conns[i] = c
	}
	speaker, listener := conns[0], conns[1]
	said := func(ear int32) bool {
		t.Helper()
		tag, err := speaker.Exec(t.Context(), speak, channel, uint32(ears), ear)
		if err != nil {
			t.Fatal(err)
		}
		return tag.RowsAffected() > 0
	}
	if said(0) {
		t.Error("a word is said to nobody")
	}
	var ear int32
	if err := listener.QueryRow(t.Context(), listening, int64(ears)).Scan(&ear); err != nil {
		t.Fatal(err)
	}
	if _, err := listener.Exec(t.Context(), "LISTEN "+channel); err != nil {
		t.Fatal(err)
	}
	if said(ear) {
		t.Error("an instance speaks to itself")
	}
	if !said(0) {
		t.Fatal("nothing is said to one who listens")
	}
	if heard, err := listener.WaitForNotification(t.Context()); err != nil || heard.Channel != channel {
		t.Errorf("what was said is not heard: %v, %v", heard, err)
	}
}
