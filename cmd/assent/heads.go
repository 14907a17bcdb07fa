package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/checkpoint"
	"assent/commands/eventlog/eventstoredb"
	"assent/domain"
)

// Where a data folder's log says where it ended, signed, and with which key.
// Whoever has the folder has both, so heads should go elsewhere, too.

func headsOf(dir string) string { return filepath.Join(dir, "heads") }

func headKeyOf(dir string) string {
	if elsewhere := os.Getenv("ASSENT_LOG_KEY_FILE"); elsewhere != "" {
		return elsewhere
	}
	return filepath.Join(dir, "log.key")
}

// headsEvery is how often a server signs where its log ends, unless said.
const headsEvery = time.Hour

// headsFlags are where signed heads go, for every command that signs.
type headsFlags struct {
	Heads []string `help:"Send signed heads to these files or http(s) URLs, besides the data folder's own list." env:"ASSENT_HEADS" placeholder:"FILE|URL"`
}

// publisherOf is a data folder's publisher: to its own list and to others.
func publisherOf(dir string, head headFunc, others []string) (*checkpoint.Publisher, error) {
	key, err := headKey(dir)
	if err != nil {
		return nil, err
	}
	var places []checkpoint.Place
	for _, text := range append([]string{headsOf(dir)}, others...) {
		at, err := checkpoint.PlaceAt(text)
		if err != nil {
			return nil, err
		}
		places = append(places, at)
	}
	return checkpoint.NewPublisher(key, head, places...), nil
}

// headKey reads the key that signs heads, and makes it on the first start:
// never beside heads that were signed with another.
func headKey(dir string) (*checkpoint.Key, error) {
	path := headKeyOf(dir)
	key, err := checkpoint.OpenKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if info, err := os.Stat(headsOf(dir)); err == nil && info.Size() > 0 {
		return nil, fmt.Errorf("the key %s is missing, and the heads in %s were signed with it: put it back", path, headsOf(dir))
	}
	return checkpoint.KeyAt(path)
}

// asStored is a log that lets its rows be read as they are.
type asStored interface{ Stored() chain.Reader }

// signHeads makes the house's publisher, and refuses a log that does not hold
// what it signed last: its end was cut, an older copy was put back, or it is
// another one. What would be appended to it could never be told apart again.
// Where the server keeps no chain, what is signed is where the log ends by the
// count that verify and copies go by.
func (h *house) signHeads(ctx context.Context, p plan) error {
	kept, ok := h.log.(asStored)
	if !ok {
		return nil
	}
	stored, end := kept.Stored(), h.log.Head
	if counted, own := stored.(*eventstoredb.Numbered); own {
		end = counted.Head
	}
	pub, err := publisherOf(h.dir, end, p.heads)
	if err != nil {
		return err
	}
	if err := pub.Check(ctx, stored); err != nil {
		return notOurs(err)
	}
	h.heads = pub
	return nil
}

// notOurs is how a command ends that would have gone on from a log which is not
// the one that was signed.
func notOurs(err error) error {
	_, broken := chain.IsBroken(err)
	if !broken && !errors.Is(err, checkpoint.ErrStrange) && !errors.Is(err, checkpoint.ErrForged) {
		return err
	}
	if errors.Is(err, checkpoint.ErrStrange) {
		err = fmt.Errorf("%w; several servers of one log sign with one key (ASSENT_LOG_KEY_FILE)", err)
	}
	return ended{exitFound, err.Error() + "\nNothing was changed. Put the right log back. If an older copy was put back on purpose, say so once with `assent log accept`: what came after it is then given up."}
}

// cutShort is how a command ends where the read models have seen more of the
// log than there is.
func cutShort(seen, end domain.Position) error {
	if seen <= end {
		return nil
	}
	return notOurs(&chain.Broken{Position: end + 1, Kind: chain.Cut, What: fmt.Sprintf(
		"it once reached position %d and ends at %d: its end is missing, or an older copy was put back", seen, end)})
}

// lastHead signs where the log ended, on the way out.
func (h *house) lastHead() {
	if h.heads == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if _, err := h.heads.Publish(ctx); err != nil {
		slog.Warn("the log's last head was not published everywhere", "error", err)
	}
}

// trustedKeys are the verifier keys of --key: given as they are, or in files.
// The data folder's own where none are.
func trustedKeys(dir string, given []string) ([]string, error) {
	if len(given) == 0 {
		key, err := checkpoint.OpenKey(headKeyOf(dir))
		if err != nil {
			return nil, fmt.Errorf("heads cannot be checked without the key that signed them (--key): %w", err)
		}
		return []string{key.Verifier()}, nil
	}
	var keys []string
	for _, k := range given {
		if strings.Count(k, "+") < 2 {
			text, err := os.ReadFile(k)
			if err != nil {
				return nil, fmt.Errorf("read the verifier key: %w", err)
			}
			k = string(text)
		}
		keys = append(keys, strings.TrimSpace(k))
	}
	return keys, nil
}
