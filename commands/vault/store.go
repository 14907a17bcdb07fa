package vault

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Why a database is not opened. It is left as it is.
var (
	// ErrForeign: what is there is no vault of ours.
	ErrForeign = errors.New("what is there is not an Assent vault; name another place, or move it away")
	// ErrNewer: a newer program has written it.
	ErrNewer = errors.New("this vault was written by a newer version of Assent; open it with that version or a later one")
)

// answer is how long the database may take for what is asked of it: nobody
// waits for ever for one that does not answer.
const answer = 10 * time.Second

// store is a database with the vault's tables, and what is not the same in
// every kind of database. All else is written once for all of them: arguments
// bound by number, transactions that are serializable.
type store struct {
	write, read *sql.DB // one and the same where anybody may write

	// shared says that others may change it at any time: nothing of it may be
	// kept in memory.
	shared bool
	// elements is the function that makes rows of a JSON array, each with a
	// column named value.
	elements string
	// wipe takes the bytes of deleted rows out of the database's files.
	wipe func(context.Context) error
}

// openStore opens the database at a place, and brings it to the newest schema.
func openStore(ctx context.Context, place string) (*store, error) {
	scheme, _, address := strings.Cut(place, "://")
	switch {
	case address && (scheme == "postgres" || scheme == "postgresql"):
		return openPostgres(ctx, place)
	case address && !strings.Contains(scheme, "/"):
		// The rest may hold a password.
		return nil, fmt.Errorf("%s:// is no place for a vault; write postgres://USER:PASSWORD@HOST/DATABASE or sqlite:PATH", scheme)
	}
	path := strings.TrimPrefix(place, "sqlite:")
	if path == "" {
		return nil, errors.New("no place for the vault is named; write postgres://USER:PASSWORD@HOST/DATABASE or sqlite:PATH")
	}
	return openFile(ctx, path)
}

func (s *store) close() error {
	if s.read == s.write {
		return s.write.Close()
	}
	return errors.Join(s.read.Close(), s.write.Close())
}

// Why an erasure is not finished: the person is forgotten, and bytes of them
// may still be there.
var (
	errStillRead = errors.New("someone is still reading the vault as it was; erase again later")
	errNotOwner  = errors.New("this login may not write the vault's tables anew; let their owner open the vault")
)

// within bounds one question to the database.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, answer)
}

// upToDate compares the version of a vault's tables with the newest one.
func upToDate(version, latest int64) (bool, error) {
	if version > latest {
		return false, fmt.Errorf("%w (its tables have version %d, this program knows %d)", ErrNewer, version, latest)
	}
	return version == latest, nil
}
