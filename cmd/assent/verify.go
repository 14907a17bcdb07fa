package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/checkpoint"
	"assent/domain"
	"assent/projections"
)

// verifyCmd walks the log from the first event and checks that nothing was
// changed, removed, inserted, reordered or cut, and that it holds every head
// that was signed. It only reads, and may do so beside a server.
type verifyCmd struct {
	logFlag
	From  string   `help:"Begin behind what was verified before: POSITION:HASH, or a file whose newest signed head is relied upon."`
	Heads []string `help:"Files of signed heads that the log has to hold, besides the data folder's own." env:"ASSENT_HEADS"`
	Key   []string `help:"Believe heads signed with this verifier key (or the one in this file); the data folder's own unless said."`

	own bool // it is the log that the data folder's heads and read models are of
}

// ownLog says whether a URL names the log of a data folder, as far as the
// folder tells. It is an error where there is no such folder.
func ownLog(url, dir string) (bool, error) {
	kind, path, err := splitLog(url, dir)
	if err != nil {
		return false, err
	}
	if kind != inSQLite {
		_, err := os.Stat(headsOf(dir))
		return err == nil, nil // who names a database names its folder
	}
	if path != filepath.Join(dir, "log.db") {
		return false, nil
	}
	if _, err := os.Stat(path); err != nil {
		return false, fmt.Errorf("there is no data in %s: %w", dir, err)
	}
	return true, nil
}

// verified is what was found, as one JSON value.
type verified struct {
	OK       bool            `json:"ok"`
	Events   domain.Position `json:"events"` // the position up to which everything is right
	Chain    string          `json:"chain"`  // the hash there, in base64
	From     string          `json:"from,omitempty"`
	Heads    int             `json:"heads"` // signed heads that the log holds
	Newest   domain.Position `json:"newestHead,omitempty"`
	GivenUp  int             `json:"givenUp,omitempty"`
	Found    string          `json:"found,omitempty"`
	Kind     chain.Kind      `json:"kind,omitempty"`
	Position domain.Position `json:"position,omitempty"` // the first that is wrong
	notes    []string
}

// Run checks and says what it found.
func (c *verifyCmd) Run(e *env) error {
	started := time.Now()
	found := &verified{}
	err := c.verify(e, found)
	if broken, ok := chain.IsBroken(err); ok {
		found.Kind, found.Position = broken.Kind, broken.Position
		if _, says := errors.AsType[ended](err); !says {
			err = ended{exitFound, broken.Error()}
		}
	}
	found.OK = err == nil
	if e.JSON {
		if err != nil {
			found.Found = err.Error()
		}
		return firstOf(err, json.NewEncoder(e.out).Encode(found))
	}
	for _, note := range found.notes {
		fmt.Fprintln(e.err, note)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(e.out, "verify: ok, %d events in %s\n", found.Events, time.Since(started).Round(time.Millisecond))
	if found.Heads > 0 {
		fmt.Fprintf(e.out, "heads: %d signed, the newest at position %d, all in this log\n", found.Heads, found.Newest)
	}
	return nil
}

func firstOf(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func (c *verifyCmd) verify(e *env, found *verified) (err error) {
	if c.own, err = ownLog(c.Log, e.Data); err != nil {
		return err
	}
	from, err := c.from(e.Data)
	if err != nil {
		return err
	}
	l, err := openStored(e.ctx, c.Log, e.Data)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, l) }()
	if from.Position > 0 {
		found.From = from.String()
		found.notes = append(found.notes, fmt.Sprintf("relied upon: events 1 to %d are as they were when they were verified or signed; they are not read again", from.Position))
	}
	draw := progressOn(e.err, "verified")
	var total domain.Position
	reached, err := chain.Verify(e.ctx, l, from, func(done, all domain.Position) {
		total = all
		draw(int(done), int(all))
	})
	found.Events, found.Chain = reached.Position, base64.StdEncoding.EncodeToString(reached.Chain[:])
	if err != nil && e.ctx.Err() != nil {
		return ended{exitUnknown, c.goOn(e, reached, total)}
	}
	if broken, ok := chain.IsBroken(err); ok {
		broken = c.explained(e, l, broken)
		if broken.Position > 0 {
			return broken
		}
		return firstOf(c.unseen(e, reached.Position), broken) // which may know where
	}
	if err != nil {
		return err
	}
	if err := c.checkHeads(e, l, found); err != nil {
		return err
	}
	return c.unseen(e, reached.Position)
}

// unseen sees that the folder's own read models have seen nothing behind the
// log's end.
func (c *verifyCmd) unseen(e *env, end domain.Position) error {
	if kind, _, _ := splitLog(c.Log, e.Data); !c.own || kind == inEventStoreDB { // whose positions are others than those that verify counts
		return nil
	}
	return unseen(e.ctx, e.Data, end)
}

// from is what is relied upon.
func (c *verifyCmd) from(dir string) (chain.Mark, error) {
	if c.From == "" {
		return chain.Mark{}, nil
	}
	if mark, err := chain.ParseMark(c.From); err == nil {
		return mark, nil
	}
	if _, err := os.Stat(c.From); err != nil {
		return chain.Mark{}, ended{exitUsage, fmt.Sprintf("--from: %q is neither POSITION:HASH nor a file of signed heads", c.From)}
	}
	keys, err := trustedKeys(dir, c.Key)
	if err != nil {
		return chain.Mark{}, err
	}
	trusted, err := checkpoint.Trust(keys...)
	if err != nil {
		return chain.Mark{}, err
	}
	var newest chain.Mark
	for signed, err := range checkpoint.ListFile(c.From) {
		if err != nil {
			return chain.Mark{}, fmt.Errorf("%s: %w", c.From, err)
		}
		if h, err := checkpoint.Open(signed, trusted); err == nil {
			newest = h.Mark
		}
	}
	if newest.Position == 0 {
		return chain.Mark{}, ended{exitUsage, fmt.Sprintf("--from: no head in %s is signed with a key that is trusted here", c.From)}
	}
	return newest, nil
}

// goOn says how to go on from where a walk was broken off.
func (c *verifyCmd) goOn(e *env, reached chain.Mark, total domain.Position) string {
	if reached.Position == 0 {
		return "stopped before anything was verified"
	}
	where := fmt.Sprintf(" --data %q", e.Data)
	if kind, path, _ := splitLog(c.Log, e.Data); kind == inSQLite && !c.own {
		where += fmt.Sprintf(" --log sqlite:%q", path) // another URL may hold a password
	}
	return fmt.Sprintf("stopped: everything up to position %d of %d is right. To go on from there:\n  assent verify%s --from %s", reached.Position, total, where, reached)
}

// lists are the files of signed heads that the log is compared with: the data
// folder's own, if there is one, and those that were named.
func (c *verifyCmd) lists(dir string) (lists []string) {
	if _, err := os.Stat(headsOf(dir)); err == nil && c.own {
		lists = append(lists, headsOf(dir))
	}
	for _, at := range c.Heads {
		if !strings.HasPrefix(at, "http://") && !strings.HasPrefix(at, "https://") {
			lists = append(lists, at)
		}
	}
	return lists
}

// explained asks the signed heads, where there are any that can be believed,
// what happened to a log that is broken.
func (c *verifyCmd) explained(e *env, l chain.Reader, broken *chain.Broken) *chain.Broken {
	lists := c.lists(e.Data)
	if len(lists) == 0 {
		return broken
	}
	keys, err := trustedKeys(e.Data, c.Key)
	if err != nil {
		return broken // without them it is as broken
	}
	trusted, err := checkpoint.Trust(keys...)
	if err != nil {
		return broken
	}
	for _, list := range lists {
		told := checkpoint.Explain(e.ctx, l, broken, checkpoint.ListFile(list), trusted)
		if told.Kind != broken.Kind || told.Position != broken.Position {
			return told
		}
	}
	return broken
}

// checkHeads looks for every signed head in the log.
func (c *verifyCmd) checkHeads(e *env, l chain.Reader, found *verified) error {
	lists := c.lists(e.Data)
	if len(lists) == 0 {
		found.notes = append(found.notes, "no signed heads to compare with: a cut end, an older copy and another log cannot be told from this one")
		return nil
	}
	keys, err := trustedKeys(e.Data, c.Key)
	if err != nil {
		return err
	}
	trusted, err := checkpoint.Trust(keys...)
	if err != nil {
		return ended{exitUsage, err.Error()}
	}
	for _, list := range lists {
		r, err := checkpoint.Check(e.ctx, l, checkpoint.ListFile(list), trusted)
		if errors.Is(err, checkpoint.ErrForged) {
			return ended{exitFound, fmt.Sprintf("%s: %v", list, err)}
		}
		if err != nil {
			return err
		}
		found.Heads += r.Held
		found.GivenUp += r.GivenUp
		found.Newest = max(found.Newest, r.Newest.Position)
		found.note(list, r)
		if r.Held == 0 && list != headsOf(e.Data) {
			return ended{exitFound, fmt.Sprintf("%s: no head is signed with a key that is trusted here: this is another log's list, or the key is another (--key)", list)}
		}
	}
	return nil
}

// note keeps what a person should know of a list besides that all is well.
func (v *verified) note(list string, r checkpoint.Report) {
	if r.GivenUp > 0 {
		v.notes = append(v.notes, fmt.Sprintf("%s: signed heads that are NOT in this log: %d. An older copy was put back, and whoever has the key accepted that (assent log accept).", list, r.GivenUp))
	}
	if r.Strange > 0 {
		v.notes = append(v.notes, fmt.Sprintf("%s: heads signed with other keys, which were not looked at: %d", list, r.Strange))
	}
	if r.Held == 0 && v.Events > 0 {
		v.notes = append(v.notes, fmt.Sprintf("%s: no signed head of this log's is in it: none was signed yet, or somebody emptied it. Then a cut end, an older copy and another log cannot be told from this one.", list))
	}
	if r.Torn > 0 {
		v.notes = append(v.notes, fmt.Sprintf("%s: pieces that are no signed heads, as a crash leaves them: %d", list, r.Torn))
	}
}

// unseen sees that the read models have seen nothing behind the log's end. It
// does not ask where somebody else has the folder: a server asked when it
// started.
func unseen(ctx context.Context, dir string, end domain.Position) (err error) {
	lock := flock.New(filepath.Join(dir, "lock"))
	if free, err := lock.TryLock(); err != nil || !free {
		return err
	}
	defer func() { err = closing(err, lock) }()
	seen, err := projections.Seen(ctx, readAt(os.Getenv("ASSENT_READ"), dir))
	if err != nil {
		return err
	}
	return cutShort(seen, end)
}

// Verify walks the chain of the house's own log.
func (h *house) Verify(ctx context.Context, progress func(done, total domain.Position)) error {
	kept, ok := h.log.(asStored)
	if !ok {
		return domain.Refuse("unsupported", "This log keeps no chain of its own.")
	}
	_, err := chain.Verify(ctx, kept.Stored(), chain.Mark{}, progress)
	return err
}
