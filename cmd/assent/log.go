package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/checkpoint"
	"assent/commands/eventlog/transfer"
	"assent/domain"
	"assent/projections"
)

// logCmd is what is done with a log as a whole.
type logCmd struct {
	Head   logHeadCmd   `cmd:"" help:"Sign where the log ends now, and send that to where heads go."`
	Accept logAcceptCmd `cmd:"" help:"Go on from an older copy of the log that was put back: what came after it is given up."`
	Copy   logCopyCmd   `cmd:"" help:"Copy a log into an empty one, or go on with a copy that was broken off."`
}

// logHeadCmd signs where the log ends. A server may have the folder.
type logHeadCmd struct {
	logFlag
	headsFlags
}

// signedHead is a signed head as one JSON value.
type signedHead struct {
	Origin   string          `json:"origin"`
	Position domain.Position `json:"position"`
	Chain    string          `json:"chain"` // in base64
	At       time.Time       `json:"recordedAt,omitzero"`
	Key      string          `json:"key"`  // that verifies it: for assent verify --key
	Note     string          `json:"note"` // the signed text
}

// Run signs and prints the head.
func (c *logHeadCmd) Run(e *env) error {
	return withPublisher(e, c.Log, c.Heads, func(l storedLog, pub *checkpoint.Publisher) error {
		if err := pub.Check(e.ctx, l); err != nil {
			return notOurs(err)
		}
		signed, sending := pub.Publish(e.ctx)
		if signed == nil && sending == nil {
			return domain.Refuse("empty", "The log is empty: there is nothing to sign yet.")
		}
		if signed == nil {
			return sending
		}
		return firstOf(printHead(e, pub.Key(), signed), sending)
	})
}

func printHead(e *env, key *checkpoint.Key, signed []byte) error {
	if !e.JSON {
		_, err := e.out.Write(signed)
		return err
	}
	h, err := checkpoint.Open(signed, key.Verifiers())
	if err != nil {
		return err
	}
	return json.NewEncoder(e.out).Encode(signedHead{
		h.Origin, h.Position, base64.StdEncoding.EncodeToString(h.Chain[:]), h.At, key.Verifier(), string(signed),
	})
}

// withPublisher opens a log as it is stored and its folder's publisher.
func withPublisher(e *env, url string, places []string, do func(storedLog, *checkpoint.Publisher) error) error {
	l, err := openStored(e.ctx, url, e.Data)
	if err != nil {
		return err
	}
	pub, err := publisherOf(e.Data, l.Head, places)
	if err == nil {
		err = soundEnd(e.ctx, l)
	}
	if err == nil {
		err = do(l, pub)
	}
	return closing(err, l)
}

// soundEnd sees that a log's head is its last event: no other is signed.
func soundEnd(ctx context.Context, l chain.Reader) error {
	head, err := l.Head(ctx)
	if err != nil {
		return err
	}
	in, err := chain.MarkOf(head).In(ctx, l)
	if err == nil && !in {
		err = &chain.Broken{Position: head.Position, What: "the log's head is not its last event; verify tells more"}
	}
	return err
}

// logAcceptCmd goes on from an older copy. No server may have the folder.
type logAcceptCmd struct {
	logFlag
	headsFlags
}

// Run signs the log's present head, saying which one is given up, and drops
// read models that have seen more.
func (c *logAcceptCmd) Run(e *env) (err error) {
	lock, err := unserved(e.Data)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, lock) }()
	return withPublisher(e, c.Log, c.Heads, func(l storedLog, pub *checkpoint.Publisher) error {
		gaveUp, signed, err := pub.Accept(e.ctx, l)
		if errors.Is(err, checkpoint.ErrAnother) {
			return ended{exitFound, err.Error() + "\nNothing was accepted. Put this folder's own log back, or give the other one a folder of its own."}
		}
		if err != nil {
			return err
		}
		head, err := l.Head(e.ctx)
		if err != nil {
			return err
		}
		seen, err := projections.Seen(e.ctx, readAt(os.Getenv("ASSENT_READ"), e.Data))
		if err != nil {
			return err
		}
		ahead := seen > head.Position
		if signed == nil && !ahead {
			return domain.Refuse("nothing-to-accept", "The log holds everything that was signed: there is nothing to give up.")
		}
		if ahead {
			if err := projections.Remove(e.ctx, readAt(os.Getenv("ASSENT_READ"), e.Data)); err != nil {
				return err
			}
		}
		if e.JSON && signed != nil {
			return printHead(e, pub.Key(), signed)
		}
		_, err = fmt.Fprintf(e.out, "accepted: the log goes on from position %d; what came after that, up to position %d, is given up.\nWhoever checks the log against its signed heads is told.\n", head.Position, max(gaveUp.Position, seen))
		return err
	})
}

// unserved takes a data folder's lock, so that no server has it meanwhile.
func unserved(dir string) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(dir, "lock"))
	free, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if !free {
		return nil, fmt.Errorf("stop the server of %s first: %w", dir, errServed)
	}
	return lock, nil
}

// logCopyCmd copies a log. The one that is copied may be served: what it held
// when the copy began is copied.
type logCopyCmd struct {
	From string `arg:"" help:"The log to copy, as for --log."`
	To   string `arg:"" help:"Where to, as for --log: an empty log, or what an earlier copy has left. Nobody may write to it meanwhile."`
}

// copied is what a copy came to, as one JSON value.
type copied struct {
	Events domain.Position `json:"events"` // in both
	Before domain.Position `json:"before"` // that were there already
	Chain  string          `json:"chain"`  // of both, in base64
}

// Run copies, reads everything back, and says what both logs end in.
func (c *logCopyCmd) Run(e *env) (err error) {
	from, err := openStored(e.ctx, c.From, e.Data)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, from) }()
	lock, err := c.alone(e.Data)
	if err != nil {
		return err
	}
	if lock != nil {
		defer func() { err = closing(err, lock) }()
	}
	to, err := openLoaded(e.ctx, c.To, e.Data)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, to) }()
	started := time.Now()
	copying, checking := progressOn(e.err, "copied"), progressOn(e.err, "read back")
	done, err := transfer.Copy(e.ctx, from, to, transfer.Progress{
		Copied:  func(n, all domain.Position) { copying(int(n), int(all)) },
		Checked: func(n, all domain.Position) { checking(int(n), int(all)) },
	})
	if err != nil {
		return c.failed(e, err)
	}
	sum := base64.StdEncoding.EncodeToString(done.Chain[:])
	if e.JSON {
		return json.NewEncoder(e.out).Encode(copied{done.Position, done.Before, sum})
	}
	_, err = fmt.Fprintf(e.out, "%s in %s\nboth logs hold %d events and end in %s\n",
		copiedLine(done), time.Since(started).Round(time.Millisecond), done.Position, sum)
	return err
}

// copiedLine is what was copied, and what was not for being there already.
func copiedLine(r transfer.Result) string {
	switch now := r.Position - r.Before; {
	case r.Before == 0:
		return fmt.Sprintf("copied: %d events", now)
	case now == 0:
		return fmt.Sprintf("nothing to copy: all %d events were there already, read back", r.Before)
	default:
		return fmt.Sprintf("copied: %d events, behind %d that were there already,", now, r.Before)
	}
}

// alone takes the lock of the folder that the target lies in, where it is one
// of ours.
func (c *logCopyCmd) alone(dir string) (*flock.Flock, error) {
	kind, path, err := splitLog(c.To, dir)
	if err != nil || kind != inSQLite {
		return nil, err
	}
	folder := filepath.Dir(path)
	if _, err := os.Stat(filepath.Join(folder, "lock")); err != nil {
		return nil, nil
	}
	return unserved(folder)
}

// failed is how a copy ends that did not come to its end.
func (c *logCopyCmd) failed(e *env, err error) error {
	if e.ctx.Err() != nil {
		return ended{exitUnknown, "stopped; the same command goes on where it was"}
	}
	if differs, ok := errors.AsType[*transfer.Differs](err); ok {
		return ended{exitFound, differs.Error() + "; nothing was copied. Copy into an empty log."}
	}
	if _, ok := chain.IsBroken(err); ok {
		return ended{exitFound, err.Error()}
	}
	if errors.Is(err, transfer.ErrMoved) {
		return ended{exitClosed, err.Error() + ". Nothing is there twice or missing. Let the other one end, or stop it; then the same command checks what is there and goes on."}
	}
	return fmt.Errorf("%w; the same command goes on where it was", err)
}
