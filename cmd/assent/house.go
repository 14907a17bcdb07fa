package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"assent/commands"
	"assent/commands/eventlog/checkpoint"
	"assent/commands/reactions"
	"assent/commands/vault"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/catalogue"
	"assent/domain/person"
	"assent/domain/workspace"
	"assent/httpapi"
	"assent/mcp/skills"
	"assent/projections"
)

// house is everything of one data folder, tied together: log, people, read
// models, road and desk, in that order.
type house struct {
	dir      string
	url      string // public address
	secret   []byte
	log      commands.Log
	kept     httpapi.Kept // what keeps the log
	people   *vault.Vault
	rows     *projections.Store
	registry *action.Registry
	answers  commands.Answers
	road     *commands.Road
	desk     *commands.Desk
	records  *commands.Records
	skills   *skills.Library
	outside  *outside
	signer   *httpapi.Signer       // of previews
	heads    *checkpoint.Publisher // of where the log ends; nil for a log that cannot be signed
	clock    func() time.Time

	lock    *flock.Flock
	alone   locks // of a log in a file elsewhere; none for others
	stop    context.CancelFunc
	running chan error // ends when the read models do
}

// errServed says that another process owns the folder.
var errServed = errors.New("the data folder is in use by another process")

// plan is how a house is built; tests use cheaper or stranger parts.
type plan struct {
	dir    string
	url    string // public address, without a slash at the end
	clock  func() time.Time
	at     string // the log's URL; in the folder when empty
	people string // where people are; beside the log or in the folder when empty
	log    func(ctx context.Context, path string, clock func() time.Time) (commands.Log, error)
	read   string // where the read models are; in the folder when empty
	vault  []vault.Option
	notend bool // leave finishing to whoever asks

	outward bool // tell those outside: a server does, and who only passes by does not
	reactionFlags
	tempo reactions.Tempo

	heads []string      // where signed heads go besides the folder's own list
	every time.Duration // how often; an hour unless said
}

func (p plan) filled() plan {
	if p.clock == nil {
		p.clock = time.Now
	}
	if p.every == 0 {
		p.every = headsEvery
	}
	if p.log == nil {
		p.log = func(ctx context.Context, _ string, clock func() time.Time) (commands.Log, error) {
			return openLog(ctx, p.at, p.dir, clock)
		}
	}
	return p
}

// open takes a data folder for this process alone, makes what is missing, and
// starts the read models. errServed means that a server has it.
func (p plan) open(ctx context.Context) (_ *house, err error) {
	p = p.filled()
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	h := &house{dir: p.dir, url: p.url, clock: p.clock, lock: flock.New(filepath.Join(p.dir, "lock"))}
	free, err := h.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if !free {
		return nil, errServed
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := h.open(ctx, p); err != nil {
		return nil, err
	}
	h.start(p)
	return h, nil
}

func (h *house) open(ctx context.Context, p plan) (err error) {
	if h.secret, err = secretOf(h.dir); err != nil {
		return err
	}
	words, err := catalogue.Words()
	if err != nil {
		return err
	}
	if h.registry, err = catalogue.Actions(); err != nil {
		return err
	}
	kinds := catalogue.Kinds()
	if h.alone, err = lockLog(p.at, h.dir); err != nil {
		return err
	}
	l, err := p.log(ctx, filepath.Join(h.dir, "log.db"), p.clock)
	if err != nil {
		return err
	}
	h.log = l
	if h.kept.By, _, err = splitLog(p.at, h.dir); err != nil {
		return err
	}
	h.kept.Atomic = l.Atomic()
	if err := h.signHeads(ctx, p); err != nil {
		return err
	}
	people, err := peopleIn(p.people, p.at, h.dir)
	if err != nil {
		return err
	}
	if h.people, err = vault.Open(ctx, people, h.secret, append(p.vault, vault.WithClock(p.clock))...); err != nil {
		return err
	}
	if err := h.belongTogether(ctx); err != nil {
		return err
	}
	if h.rows, err = projections.Open(ctx, readAt(p.read, h.dir), words, kinds, p.clock); err != nil {
		return err
	}
	if head, err := h.log.Head(ctx); err != nil {
		return err
	} else if err := cutShort(h.rows.Status().Position, head.Position); err != nil {
		return err
	}
	h.answers = commands.Answers{}
	h.skills = libraryAt(skillsIn(h.dir), h.registry)
	h.road = commands.NewRoad(commands.Parts{
		Log:         h.log,
		Words:       words,
		Kinds:       kinds,
		Registry:    h.registry,
		Sealer:      h.people,
		Pending:     h.rows,
		Traces:      traces{h.rows},
		Touched:     h.rows,
		Answers:     h.answers,
		Skills:      declared{h.skills},
		Clock:       p.clock,
		ProposalURL: func(id string) string { return p.url + "/proposals/" + id },
	})
	if h.outside, err = h.openOutside(ctx, p, reactionsIn(people, h.dir), words); err != nil {
		return err
	}
	h.desk = commands.NewDesk(h.road)
	h.records = commands.NewRecords(h.road, traces{h.rows})
	if h.signer, err = httpapi.NewSigner(h.secret, p.url); err != nil {
		return err
	}
	h.reader().bind(h.answers, h.signer)
	h.outside.bind(h.answers)
	return nil
}

// reader is the read models as the doors ask them.
func (h *house) reader() reader { return reader{h, accounts{h.people, h.clock}} }

// belongTogether refuses an empty log beside people: it was put away or cut,
// and a server on it would let the next comer become the owner.
func (h *house) belongTogether(ctx context.Context) error {
	head, err := h.log.Head(ctx)
	if err != nil || head.Position > 0 {
		return err
	}
	people, err := h.people.Any(ctx)
	if err == nil && people {
		err = fmt.Errorf("the log is empty, but there are people in %s: put the right log back (--log, ASSENT_LOG), or begin in another folder", h.dir)
	}
	return err
}

// readAt is where the read models are kept: in the data folder unless a URL
// names another place.
func readAt(url, dir string) string {
	if url == "" || url == "sqlite:" {
		return filepath.Join(dir, "read.db")
	}
	return url
}

// start lets the read models follow the log and finishes what was left.
func (h *house) start(p plan) {
	ctx, stop := context.WithCancel(context.Background())
	h.stop, h.running = stop, make(chan error, 4)
	go func() { h.running <- h.follow(ctx) }()
	go func() {
		if !p.outward {
			h.running <- nil
			return
		}
		h.running <- h.outside.Run(ctx)
	}()
	go func() {
		if p.notend {
			h.running <- nil
			return
		}
		h.running <- h.road.Tend(ctx, 2*time.Second)
	}()
	go func() {
		if h.heads != nil {
			h.heads.Run(ctx, p.every)
		}
		h.running <- nil
	}()
}

// follow keeps the read models up with the log. After a fault it begins again
// where they are; an event that cannot be folded stops them until an operator
// has it skipped, while everything else goes on.
func (h *house) follow(ctx context.Context) error {
	again := time.NewTicker(time.Second)
	defer again.Stop()
	said := ""
	for {
		err := h.rows.Run(ctx, h.log)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err.Error() != said {
			said = err.Error()
			slog.ErrorContext(ctx, "the read models stopped", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

// Close lets go of everything, in the other order. It writes down what was
// only counted so far.
func (h *house) Close() error {
	var errs []error
	if h.stop != nil {
		flush, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		errs = append(errs, h.road.Close(flush))
		cancel()
		h.stop()
		for range cap(h.running) {
			if err := <-h.running; err != nil && !errors.Is(err, context.Canceled) {
				errs = append(errs, err)
			}
		}
	}
	if h.outside != nil {
		errs = append(errs, h.outside.Close())
	}
	if h.rows != nil {
		errs = append(errs, h.rows.Close())
	}
	if h.people != nil {
		errs = append(errs, h.people.Close())
	}
	if h.log != nil {
		if h.stop != nil {
			h.lastHead()
		}
		errs = append(errs, h.log.Close())
	}
	errs = append(errs, h.alone.Unlock())
	if h.lock != nil {
		errs = append(errs, h.lock.Unlock())
	}
	return errors.Join(errs...)
}

// secretOf reads the server's secret, and makes it on the first start: never
// beside people whose keys were wrapped with another.
func secretOf(dir string) ([]byte, error) {
	path := filepath.Join(dir, "secret")
	if elsewhere := os.Getenv("ASSENT_SECRET_FILE"); elsewhere != "" {
		path = elsewhere
	}
	secret, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, "people.db")); err == nil {
			return nil, fmt.Errorf("the secret %s is missing, and people.db was made with it: put it back", path)
		}
		secret = make([]byte, vault.SecretSize)
		if _, err := rand.Read(secret); err != nil {
			return nil, err
		}
		return secret, writeSecret(path, secret)
	}
	if err == nil && len(secret) != vault.SecretSize {
		return nil, fmt.Errorf("the secret in %s has %d bytes, not %d; put the right file back", path, len(secret), vault.SecretSize)
	}
	return secret, err
}

// writeSecret makes the file whole or not at all, and never over another.
func writeSecret(path string, secret []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make the secret: %w", err)
	}
	_, err = f.Write(secret)
	return errors.Join(err, f.Sync(), f.Close())
}

// traces is the read models as the road asks them.
type traces struct{ rows *projections.Store }

func (t traces) Trace(ctx context.Context, workspace string, act domain.ID, after domain.Position) ([]commands.Trace, error) {
	found, err := t.rows.Trace(ctx, workspace, act, after)
	list := make([]commands.Trace, len(found))
	for i, f := range found {
		list[i] = commands.Trace(f)
	}
	return list, err
}

func (t traces) Lines(ctx context.Context, workspace string, act domain.ID, after domain.Position) ([][]commands.Trace, error) {
	found, err := t.rows.Lines(ctx, workspace, act, after)
	lines := make([][]commands.Trace, len(found))
	for i, line := range found {
		for _, f := range line {
			lines[i] = append(lines[i], commands.Trace(f))
		}
	}
	return lines, err
}

func (t traces) Before(ctx context.Context, workspace string, at time.Time, after domain.Position) (domain.Position, error) {
	return t.rows.Before(ctx, workspace, at, after)
}

func (t traces) TakenBack(ctx context.Context, workspace string, acts []domain.ID, after domain.Position) (map[domain.ID]bool, error) {
	return t.rows.TakenBack(ctx, workspace, acts, after)
}

func (t traces) EndingKeys(ctx context.Context, now time.Time) ([]domain.Stream, error) {
	return t.rows.EndingKeys(ctx, now)
}

func (t traces) Unfinished(ctx context.Context, now time.Time) ([]domain.Stream, error) {
	return t.rows.Unfinished(ctx, now)
}

// Seat makes a person the first owner of a workspace, as the system itself.
// The log decides that there is only one.
func (h *house) Seat(ctx context.Context, ws, id string) (domain.Position, error) {
	system := commands.Call{Workspace: ws, Principal: domain.Principal{Kind: domain.KindSystem, ID: "setup"}}
	if _, err := h.must(ctx, system, workspace.Found, workspace.FoundArgs{Founder: id}); err != nil {
		return 0, err
	}
	out, err := h.must(ctx, system, person.Seat, person.SeatArgs{Person: id, Role: "owner"})
	if err != nil {
		return 0, err
	}
	if out.Position == 0 { // was seated before
		head, err := h.log.Head(ctx)
		return head.Position, err
	}
	return domain.Position(out.Position), nil
}

// must takes the road and makes a meant no an error.
func (h *house) must(ctx context.Context, call commands.Call, a *action.Action, args any) (commands.Outcome, error) {
	call.Action = a.Name
	var err error
	if call.Args, err = argsOf(args); err != nil {
		return commands.Outcome{}, err
	}
	out, err := h.road.Do(ctx, call)
	if err != nil {
		return out, err
	}
	if out.Refusal != nil {
		return out, out.Refusal
	}
	return out, nil
}
