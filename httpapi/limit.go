package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// limiter lets each name through burst times at once and then once every
// interval. It remembers, for each name, when its tries would all be used up
// again, and forgets whoever has none to make up for.
type limiter struct {
	burst    int
	interval time.Duration

	mu   sync.Mutex
	full map[string]time.Time
}

// remembered bounds a limiter's memory. Beyond it everybody shares one name
// until somebody is forgotten: a flood slows itself down, not the machine.
const remembered = 10_000

func newLimiter(burst int, interval time.Duration) *limiter {
	return &limiter{burst: burst, interval: interval, full: map[string]time.Time{}}
}

// take uses up one try, or says how long to wait for the next one.
func (l *limiter) take(name string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.full) >= remembered {
		for n, t := range l.full {
			if !t.After(now) {
				delete(l.full, n)
			}
		}
		if _, known := l.full[name]; !known && len(l.full) >= remembered {
			name = ""
		}
	}
	full := l.full[name]
	if full.Before(now) {
		full = now
	}
	if wait := full.Add(l.interval).Sub(now) - time.Duration(l.burst)*l.interval; wait > 0 {
		return tooSoon{wait}
	}
	l.full[name] = full.Add(l.interval)
	return nil
}

// forget gives a name all its tries back.
func (l *limiter) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.full, name)
}

// doorkeeper limits guessing: at one account from one address, at one account
// from everywhere, and from one address at any account. The middle one is
// wide, so that a stranger cannot keep a person out with a few tries.
type doorkeeper struct{ pair, account, address *limiter }

func newDoorkeeper() doorkeeper {
	return doorkeeper{
		pair:    newLimiter(5, 30*time.Second),
		account: newLimiter(50, 10*time.Second),
		address: newLimiter(20, 3*time.Second),
	}
}

// knock uses up one try of an account (empty: only of the address).
func (d doorkeeper) knock(r *http.Request, account string, now time.Time) error {
	from := addressOf(r)
	if err := d.address.take(from, now); err != nil || account == "" {
		return err
	}
	if err := d.pair.take(from+" "+account, now); err != nil {
		return err
	}
	return d.account.take(account, now)
}

// welcome gives the account its tries from this address back.
func (d doorkeeper) welcome(r *http.Request, account string) {
	d.pair.forget(addressOf(r) + " " + account)
}

// addressOf is where a request comes from: the peer, or, when the peer is this
// machine itself, what the proxy on it says. An IPv6 customer has a whole /64.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if addr.IsLoopback() {
		hops := strings.Split(r.Header.Get("X-Forwarded-For"), ",")
		if last, err := netip.ParseAddr(strings.TrimSpace(hops[len(hops)-1])); err == nil {
			addr = last
		}
	}
	if addr = addr.Unmap(); addr.Is6() {
		prefix, _ := addr.Prefix(64) // 64 bits fit every IPv6 address
		return prefix.String()
	}
	return addr.String()
}
