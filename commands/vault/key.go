package vault

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"assent/domain"
)

// Key is an agent's key, without the secret.
type Key struct {
	Workspace, Agent, ID string
	Prefix               string // how its text begins, for people to tell keys apart
	Created              time.Time
	LastUsed             time.Time // to the minute; zero: never
}

// knownKey is a key in memory. Its Key never changes; used is its last use in
// milliseconds, 0 for never.
type knownKey struct {
	Key
	used atomic.Int64
}

// use is a key's use on its way to the database, in milliseconds.
type use struct {
	hash [sha256.Size]byte
	at   int64
}

// NewKey makes a key for an agent under an id of the caller's making. Its text
// is told this once: only a hash of it is kept. An id that is in use is taken.
func (v *Vault) NewKey(ctx context.Context, workspace, agent, id string, now time.Time) (secret string, err error) {
	secret = newKeyText()
	hash := sha256.Sum256([]byte(secret))
	err = v.change(ctx, "make a key", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `
			INSERT INTO agent_key (hash, workspace, agent, id, prefix, created) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT DO NOTHING`, hash[:], workspace, agent, id, secret[:keyShown], millis(now))
		return orRefuse(result, err, "taken", "There is a key with that id already.")
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// Key recognises a key; unauthorised when it is none of ours (any more). What
// is not well formed costs nothing to refuse; a key seen lately is answered from
// memory, where nobody else can have revoked it.
func (v *Vault) Key(ctx context.Context, secret string) (Key, error) {
	if !WellFormedKey(secret) {
		return Key{}, domain.Refuse("unauthorised", "This key is not complete; copy all of it.")
	}
	hash := sha256.Sum256([]byte(secret))
	k, epoch, ok := v.keys.get(hash)
	if !ok {
		read, err := v.readKey(ctx, hash)
		if errors.Is(err, sql.ErrNoRows) {
			return Key{}, domain.Refuse("unauthorised", "This key does not work (any more); ask your owner for a new one.")
		}
		if err != nil {
			return Key{}, fault("read a key", err)
		}
		k = v.keys.put(epoch, hash, read)
	}
	return v.noteUse(hash, k), nil
}

func (v *Vault) readKey(ctx context.Context, hash [sha256.Size]byte) (*knownKey, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	var k knownKey
	var created, used int64
	err := v.read.QueryRowContext(ctx, `
		SELECT workspace, agent, id, prefix, created, used FROM agent_key WHERE hash = $1`, hash[:]).
		Scan(&k.Workspace, &k.Agent, &k.ID, &k.Prefix, &created, &used)
	k.Created = at(created)
	k.used.Store(used)
	return &k, err
}

// noteUse gives the key with its use before this one, and hands this use over
// to be written, at most once a minute.
func (v *Vault) noteUse(hash [sha256.Size]byte, k *knownKey) Key {
	now, before := millis(v.now()), k.used.Load()
	if now-before >= seenEvery.Milliseconds() && k.used.CompareAndSwap(before, now) {
		select {
		case v.uses <- use{hash, now}:
		default: // the disk is slow; the next call tries again
			k.used.CompareAndSwap(now, before)
		}
	}
	key := k.Key
	key.LastUsed = at(before)
	return key
}

// recordUses writes uses of keys down until the vault closes.
func (v *Vault) recordUses(ctx context.Context) {
	defer close(v.done)
	for {
		select {
		case first := <-v.uses:
			v.writeUses(first)
		case <-ctx.Done():
			for len(v.uses) > 0 {
				v.writeUses(<-v.uses)
			}
			return
		}
	}
}

// writeUses writes a use, and those that came meanwhile, in one go. One that
// cannot be written is not worth failing anything: the next is a minute away.
// Several may note one key's use at once; of a minute only one counts.
func (v *Vault) writeUses(first use) {
	uses := []use{first}
	for len(v.uses) > 0 { // nobody else takes any
		uses = append(uses, <-v.uses)
	}
	slices.SortFunc(uses, func(a, b use) int { return bytes.Compare(a.hash[:], b.hash[:]) }) // or two could wait for each other
	ctx := context.Background()
	_ = v.change(ctx, "note uses of keys", func(tx *sql.Tx) error {
		for _, u := range uses {
			_, err := tx.ExecContext(ctx, `
				UPDATE agent_key SET used = $2 WHERE hash = $1 AND used <= $3`, u.hash[:], u.at, u.at-seenEvery.Milliseconds())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Keys are an agent's keys, oldest first.
func (v *Vault) Keys(ctx context.Context, workspace, agent string) ([]Key, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	rows, err := v.read.QueryContext(ctx, `
		SELECT id, prefix, created, used FROM agent_key
		WHERE workspace = $1 AND agent = $2 ORDER BY created, id`, workspace, agent)
	if err != nil {
		return nil, fault("read keys", err)
	}
	defer func() { _ = rows.Close() }()
	var keys []Key
	for rows.Next() {
		k := Key{Workspace: workspace, Agent: agent}
		var created, used int64
		if err := rows.Scan(&k.ID, &k.Prefix, &created, &used); err != nil {
			return nil, fault("read keys", err)
		}
		k.Created, k.LastUsed = at(created), at(used)
		keys = append(keys, k)
	}
	return keys, fault("read keys", rows.Err())
}

// DropKey revokes a key: when it returns, no call gets through with it. That
// there is no such key is fine.
func (v *Vault) DropKey(ctx context.Context, workspace, id string) error {
	// Even after an error: the commit may have gone through.
	defer v.keys.clear()
	return v.change(ctx, "drop a key", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM agent_key WHERE workspace = $1 AND id = $2`, workspace, id)
		return err
	})
}
