package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// missed says loudly that a workspace has an owner and that there are no people:
// their file was lost or put away, or a backup was restored, which holds none.
// The sites are served all the same.
func (s *server) missed(ctx context.Context, out io.Writer, ws string) error {
	people, err := s.people.Any(ctx)
	if err != nil || people {
		return err
	}
	slog.WarnContext(ctx, "the workspace has an owner and there are no people: nobody can sign in, and no agent's key works", "workspace", ws)
	_, err = fmt.Fprintf(out, "MISSING the people of the workspace %q: it has an owner, and people.db (or what ASSENT_PEOPLE names) is empty.\n"+
		"        Nobody can sign in, no agent's key works, and reasons cannot be read. The log holds no names and no keys.\n"+
		"        Stop this server and put people.db and secret back, or a copy of them (assent backup --people).\n", ws)
	return err
}
