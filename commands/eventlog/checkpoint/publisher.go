package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"assent/commands"
	"assent/commands/eventlog/chain"
)

// Publisher signs where a log ends and sends that to places, each of which has
// the same head only once. It never holds the log up: a place that fails is
// tried again with the next head.
type Publisher struct {
	key  *Key
	head func(ctx context.Context) (commands.Head, error)

	sending sync.Mutex // one head after another
	mu      sync.Mutex
	places  []place
}

// place is one of a publisher's.
type place struct {
	Place
	has    chain.Mark // the last that it took
	failed error      // why it did not take the last one
}

// NewPublisher signs what head says with a key. Head is asked by one goroutine
// at a time.
func NewPublisher(key *Key, head func(context.Context) (commands.Head, error), places ...Place) *Publisher {
	p := &Publisher{key: key, head: head}
	for _, at := range places {
		p.places = append(p.places, place{Place: at})
	}
	return p
}

// Key is what signs.
func (p *Publisher) Key() *Key { return p.key }

// Check sees that a log holds the newest head in every file that the publisher
// writes to: to be asked before anything is appended. The error is a
// *chain.Broken, ErrStrange, ErrForged, or what kept a file from being read.
func (p *Publisher) Check(ctx context.Context, r chain.Reader) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.places {
		at := &p.places[i]
		h, err := at.newest(p.key)
		if err != nil {
			return fmt.Errorf("the signed heads in %s: %w", at, err)
		}
		miss, err := h.missing(ctx, r, 0)
		if err != nil {
			return err
		}
		if miss != nil {
			_, miss, err = at.looked(ctx, r, p.key, miss)
			return errors.Join(err, miss)
		}
		at.has = h.Mark
	}
	return nil
}

// ErrAnother says that a log holds no head that was ever signed of this one, and
// other events where some were: it is no older copy of it.
var ErrAnother = errors.New("this is another log, and no older copy of the one that was signed")

// looked tells how many heads of a place a log holds that misses the newest,
// and what is wrong with it: an older head inside tells another log from a cut
// one. A webhook knows no more than it was told.
func (p Place) looked(ctx context.Context, r chain.Reader, key *Key, miss *chain.Broken) (held int, worst *chain.Broken, err error) {
	if p.hook != nil {
		return 0, miss, nil
	}
	found, err := Check(ctx, r, ListFile(p.text), key.Verifiers())
	if broken, ok := chain.IsBroken(err); ok {
		return found.Held, broken, nil
	}
	return found.Held, miss, err
}

// Publish signs the log's head and sends it to every place that does not have
// it. An empty log has none. What is returned is signed also when sending it
// failed; the error then names each place and why.
func (p *Publisher) Publish(ctx context.Context) (signed []byte, err error) {
	p.sending.Lock()
	defer p.sending.Unlock()
	head, err := p.head(ctx)
	if err != nil || head.Position == 0 {
		return nil, err
	}
	return p.send(ctx, Of(head))
}

// send is one at a time.
func (p *Publisher) send(ctx context.Context, h Head) ([]byte, error) {
	signed, err := p.key.Sign(h)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	places := slices.Clone(p.places) // what is slow holds nobody up who only asks
	p.mu.Unlock()
	var all sync.WaitGroup
	for i := range places {
		if at := &places[i]; at.has != h.Mark || h.GaveUp != (chain.Mark{}) {
			all.Go(func() {
				if at.failed = at.put(ctx, signed); at.failed == nil {
					at.has = h.Mark
				}
			})
		}
	}
	all.Wait()
	p.mu.Lock()
	p.places = places
	p.mu.Unlock()
	return signed, p.Failing()
}

// Failing says which places did not take the last head, and why; nil if all
// did.
func (p *Publisher) Failing() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, at := range p.places {
		if at.failed != nil {
			errs = append(errs, fmt.Errorf("the log's signed head did not reach %s: %w", at.Place, at.failed))
		}
	}
	return errors.Join(errs...)
}

// Run publishes at once and then at an interval, until the context ends.
func (p *Publisher) Run(ctx context.Context, every time.Duration) {
	again := time.NewTicker(every)
	defer again.Stop()
	for {
		if _, err := p.Publish(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "the log's head is not published everywhere; it is tried again", "every", every, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}

// Accept goes on from a log that does not hold the newest head of some file: it
// signs the log's present head and says in it which one was given up. It tells
// that head, or a zero one where there is nothing to give up.
func (p *Publisher) Accept(ctx context.Context, r chain.Reader) (gaveUp Head, signed []byte, err error) {
	head, err := r.Head(ctx)
	if err != nil {
		return Head{}, nil, err
	}
	strange := false
	for i := range p.places {
		h, err := p.places[i].newest(p.key)
		if errors.Is(err, ErrStrange) {
			strange = true
			continue
		}
		if err != nil {
			return Head{}, nil, fmt.Errorf("the signed heads in %s: %w", p.places[i].Place, err)
		}
		miss, err := h.missing(ctx, r, 0)
		if err != nil {
			return Head{}, nil, err
		}
		if miss == nil {
			continue
		}
		if held, worst, err := p.places[i].looked(ctx, r, p.key, miss); err != nil {
			return Head{}, nil, err
		} else if held == 0 && worst.Kind == chain.Replaced {
			return Head{}, nil, fmt.Errorf("%w: %w", ErrAnother, worst)
		}
		if h.Position >= gaveUp.Position {
			gaveUp = h
		}
	}
	if gaveUp.Position == 0 && !strange {
		return Head{}, nil, nil
	}
	h := Of(head)
	h.GaveUp = gaveUp.Mark
	p.sending.Lock()
	defer p.sending.Unlock()
	signed, err = p.send(ctx, h)
	return gaveUp, signed, err
}
