package eventstoredb

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"assent/commands"
	"assent/commands/eventlog/eventstoredb/fake"
	"assent/commands/eventlog/logtest"
)

func TestTheEventStoreDBLogKeepsEveryPromise(t *testing.T) {
	var mu sync.Mutex
	servers := make(map[string]*fake.Server) // by what their clients are told
	of := func(log commands.Log) *fake.Server {
		mu.Lock()
		defer mu.Unlock()
		return servers[log.(*Log).guard.conf.Address]
	}
	suite(t, func(t *testing.T) string {
		s := serve(t)
		mu.Lock()
		defer mu.Unlock()
		servers[s.Addr()] = s
		return s.URL()
	}, logtest.Doubting(func(_ *testing.T, log commands.Log) { of(log).Fail(fake.Appends, 1, fake.CommittedBroken) }))
}

// The same on a real server: see the package's documentation for one in a
// container. The streams it makes stay there.
func TestARealServerKeepsEveryPromise(t *testing.T) {
	url := os.Getenv("ASSENT_TEST_ESDB")
	if url == "" {
		t.Skip("ASSENT_TEST_ESDB names no server")
	}
	suite(t, func(*testing.T) string { return url })
}

// suite holds logs on servers to every promise, each under a prefix of its own.
func suite(t *testing.T, server func(*testing.T) string, options ...logtest.Option) {
	var mu sync.Mutex
	urls := make(map[string]string) // by prefix
	open := func(t *testing.T, clock func() time.Time) commands.Log {
		prefix, url := unused(), server(t)
		mu.Lock()
		urls[prefix] = url
		mu.Unlock()
		return openAt(t, url, clock, Prefix(prefix))
	}
	again := func(t *testing.T, log commands.Log, clock func() time.Time) commands.Log {
		prefix := log.(*Log).prefix
		mu.Lock()
		url := urls[prefix]
		mu.Unlock()
		return openAt(t, url, clock, Prefix(prefix))
	}
	logtest.Run(t, open, append(options,
		logtest.Reopening(func(t *testing.T, log commands.Log, clock func() time.Time) commands.Log {
			if err := log.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return again(t, log, clock)
		}),
		logtest.Sharing(again),
	)...)
}

// unused is a prefix that nothing begins with yet.
func unused() string { return "assent-test-" + uuid.NewString() + "." }

func serve(t testing.TB, options ...fake.Option) *fake.Server {
	t.Helper()
	s, err := fake.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func openAt(t testing.TB, url string, clock func() time.Time, options ...Option) *Log {
	t.Helper()
	l, err := Open(t.Context(), url, clock, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}
