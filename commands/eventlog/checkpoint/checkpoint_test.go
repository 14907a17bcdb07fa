package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/commands/eventlog/checkpoint"
	"assent/domain"
)

func newKey(t *testing.T) *checkpoint.Key {
	t.Helper()
	return must(checkpoint.MakeKey(filepath.Join(t.TempDir(), "log.key")))(t)
}

func listOf(heads [][]byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, h := range heads {
			if !yield(h, nil) {
				return
			}
		}
	}
}

var at = time.Date(2026, 3, 14, 12, 0, 0, 123456789, time.UTC)

func headAt(n domain.Position) commands.Head {
	return commands.Head{Position: n, At: at, Chain: [32]byte{byte(n), 1, 2}}
}

// The text of a head is kept by others for years: it can never change.
func TestAHeadIsWrittenTheSameForEver(t *testing.T) {
	const key = "PRIVATE+KEY+assent.chain/0011223344556677+81350d8a+AQABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	path := filepath.Join(t.TempDir(), "log.key")
	if err := os.WriteFile(path, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := must(checkpoint.OpenKey(path))(t)
	signed := string(must(k.Sign(checkpoint.Of(headAt(20852))))(t))
	const want = "assent.chain/0011223344556677\n20852\ndAECAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nSHA-256 hash chain, no Merkle tree\nrecorded 2026-03-14T12:00:00.123456789Z\n\n— assent.chain/0011223344556677 "
	if !strings.HasPrefix(signed, want) {
		t.Errorf("it is\n%s\nand was\n%s", signed, want)
	}
	if want := "assent.chain/0011223344556677+81350d8a+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"; k.Verifier() != want {
		t.Errorf("the verifier key is %s, and was %s", k.Verifier(), want)
	}
	// Any reader of signed notes takes it.
	v := must(note.NewVerifier(k.Verifier()))(t)
	if _, err := note.Open([]byte(signed), note.VerifierList(v)); err != nil {
		t.Error(err)
	}
}

func TestAHeadIsReadBackAsItWasSigned(t *testing.T) {
	key := newKey(t)
	for _, h := range []checkpoint.Head{
		checkpoint.Of(headAt(1)), checkpoint.Of(commands.Head{}),
		{Mark: chain.Mark{Position: 3, Chain: [32]byte{7}}, At: at, GaveUp: chain.Mark{Position: 9, Chain: [32]byte{8}}},
	} {
		signed := must(key.Sign(h))(t)
		h.Origin = key.Origin()
		if got, err := checkpoint.Open(signed, key.Verifiers()); err != nil || got != h {
			t.Errorf("%+v, %v; it was %+v", got, err, h)
		}
		trusted := must(checkpoint.Trust(key.Verifier()))(t)
		if got, err := checkpoint.Open(signed, trusted); err != nil || got != h {
			t.Errorf("by its verifier key: %+v, %v", got, err)
		}
	}
}

func TestNothingElseIsTakenForAHead(t *testing.T) {
	key, other := newKey(t), newKey(t)
	signed := string(must(key.Sign(checkpoint.Of(headAt(12))))(t))
	as := func(origin, text string) string {
		path := filepath.Join(t.TempDir(), "k")
		private, _, err := note.GenerateKey(bytes.NewReader(make([]byte, 64)), origin)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(private), 0o600); err != nil {
			t.Fatal(err)
		}
		signer := must(note.NewSigner(private))(t)
		return string(must(note.Sign(&note.Note{Text: text}, signer))(t))
	}
	private, public, err := note.GenerateKey(bytes.NewReader(make([]byte, 64)), "assent.chain/x")
	if err != nil {
		t.Fatal(err)
	}
	_ = private
	trusted := must(checkpoint.Trust(key.Verifier(), public))(t)
	for name, text := range map[string]string{
		"nothing":              "",
		"a letter":             "Dear all\n\n— me abc=\n",
		"another position":     strings.Replace(signed, "\n12\n", "\n13\n", 1),
		"another's":            string(must(other.Sign(checkpoint.Of(headAt(12))))(t)),
		"a Merkle tree's":      as("assent.chain/x", "assent.chain/x\n12\ndAECAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"),
		"another's origin":     as("assent.chain/x", strings.SplitAfter(signed, "Z\n")[0]),
		"a negative place":     as("assent.chain/x", "assent.chain/x\n-1\ndAECAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nSHA-256 hash chain, no Merkle tree\n"),
		"a place of zeros":     as("assent.chain/x", "assent.chain/x\n012\ndAECAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nSHA-256 hash chain, no Merkle tree\n"),
		"a short hash":         as("assent.chain/x", "assent.chain/x\n12\ndAEC\nSHA-256 hash chain, no Merkle tree\n"),
		"an unknown line":      as("assent.chain/x", "assent.chain/x\n12\ndAECAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nSHA-256 hash chain, no Merkle tree\nhello\n"),
		"two times":            as("assent.chain/x", "assent.chain/x\n12\ndAECAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nSHA-256 hash chain, no Merkle tree\nrecorded 2026-03-14T12:00:00Z\nrecorded 2026-03-14T12:00:01Z\n"),
		"a time of a far zone": as("assent.chain/x", "assent.chain/x\n12\ndAECAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nSHA-256 hash chain, no Merkle tree\nrecorded 2026-03-14T12:00:00+01:00\n"),
	} {
		if h, err := checkpoint.Open([]byte(text), trusted); err == nil {
			t.Errorf("%s was believed: %+v", name, h)
		}
	}
}

func TestAKeyIsItsOwnersOnlyAndStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.key")
	if _, err := checkpoint.OpenKey(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no key: %v", err)
	}
	made := must(checkpoint.KeyAt(path))(t)
	if info := must(os.Stat(path))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
	if again := must(checkpoint.KeyAt(path))(t); again.Verifier() != made.Verifier() {
		t.Error("it is another one")
	}
	if _, err := checkpoint.MakeKey(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another: %v", err)
	}
	for range 200 { // base64 may hold what parts a key's text
		newKey(t)
	}
	for _, text := range []string{"", "PRIVATE+KEY+a+b", "nonsense", made.Verifier()} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := checkpoint.KeyAt(path); err == nil {
			t.Errorf("%q was a key", text)
		}
	}
}

// TestAListSurvivesCrashes: what was half written is passed over, whatever its
// length, and what was added after it is found.
func TestAListSurvivesCrashes(t *testing.T) {
	key := newKey(t)
	one, two := must(key.Sign(checkpoint.Of(headAt(1))))(t), must(key.Sign(checkpoint.Of(headAt(2))))(t)
	dir := t.TempDir()
	for cut := range len(one) + 2 {
		path := filepath.Join(dir, "heads")
		if err := os.WriteFile(path, append(append([]byte{}, one...), '\n')[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkpoint.Append(path, two); err != nil {
			t.Fatal(err)
		}
		var positions []domain.Position
		for signed, err := range checkpoint.ListFile(path) {
			if err != nil {
				t.Fatal(err)
			}
			if h, err := checkpoint.Open(signed, key.Verifiers()); err == nil {
				positions = append(positions, h.Position)
			}
		}
		whole := cut >= len(one)-1 // all but the end of its last line
		if n := len(positions); n == 0 || positions[n-1] != 2 || (n == 2) != whole {
			t.Errorf("cut at %d of %d: %v", cut, len(one), positions)
		}
	}
}

// TestTheNewestHeadIsTheLastWholeOne: also when a crash tore what came after.
func TestTheNewestHeadIsTheLastWholeOne(t *testing.T) {
	key, other := newKey(t), newKey(t)
	sign := func(k *checkpoint.Key, n domain.Position) string {
		return string(must(k.Sign(checkpoint.Of(headAt(n))))(t)) + "\n"
	}
	one, two, theirs := sign(key, 1), sign(key, 2), sign(other, 3)
	for name, c := range map[string]struct {
		list string
		want domain.Position
		err  error
	}{
		"no list":            {"", 0, nil},
		"one":                {one, 1, nil},
		"two":                {one + two, 2, nil},
		"another's behind":   {one + theirs, 1, nil},
		"another's only":     {theirs, 0, checkpoint.ErrStrange},
		"a torn end":         {one + two[:20], 1, nil},
		"a torn signature":   {one + two[:len(two)-30], 1, nil},
		"a forged one":       {one + strings.Replace(two, "\n2\n", "\n9\n", 1), 0, checkpoint.ErrForged},
		"only what was torn": {one[:30], 0, nil},
	} {
		h, err := checkpoint.Newest(checkpoint.List(strings.NewReader(c.list)), key)
		if !errors.Is(err, c.err) || h.Position != c.want {
			t.Errorf("%s: %d, %v; want %d, %v", name, h.Position, err, c.want, c.err)
		}
	}
}

// TestHostileListsEnd: a list is somebody else's file.
func TestHostileListsEnd(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"one endless line":      io.LimitReader(endless("a"), 1<<22),
		"an endless paragraph":  io.LimitReader(endless("a\n"), 1<<22),
		"endless empty lines":   io.LimitReader(endless("\n"), 1<<20),
		"signatures of nothing": io.LimitReader(endless("— a b\n\n"), 1<<20),
	} {
		n := 0
		for signed, err := range checkpoint.List(r) {
			n++
			if err == nil && len(signed) > 0 {
				t.Errorf("%s gives %.40q", name, signed)
			}
		}
		t.Log(name, n)
	}
}

type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// hook is a webhook that can be out of order.
type hook struct {
	*httptest.Server
	mu  sync.Mutex
	bad bool
	got []string
}

func newHook(t *testing.T) *hook {
	h := new(hook)
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.bad || r.Method != http.MethodPost || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		h.got = append(h.got, string(body))
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) be(bad bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bad = bad
}

func (h *hook) has() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.got)
}

func places(t *testing.T, texts ...string) (all []checkpoint.Place) {
	t.Helper()
	for _, text := range texts {
		all = append(all, must(checkpoint.PlaceAt(text))(t))
	}
	return all
}

// TestHeadsReachEveryPlaceOnce: one that fails is tried again with the next,
// and the others do not wait for it.
func TestHeadsReachEveryPlaceOnce(t *testing.T) {
	file, h := filepath.Join(t.TempDir(), "heads"), newHook(t)
	head := headAt(1)
	p := checkpoint.NewPublisher(newKey(t), func(context.Context) (commands.Head, error) { return head, nil },
		places(t, file, h.URL+"/heads?token=hidden")...)
	inFile := func() (n int) {
		for range checkpoint.ListFile(file) {
			n++
		}
		return n
	}
	h.be(true)
	_, err := p.Publish(t.Context())
	if err == nil || !strings.Contains(err.Error(), "502") || strings.Contains(err.Error(), "hidden") || p.Failing() == nil {
		t.Errorf("a place that fails: %v", err)
	}
	h.be(false)
	for range 2 { // the second has nothing to do
		if _, err := p.Publish(t.Context()); err != nil || p.Failing() != nil {
			t.Errorf("%v, %v", err, p.Failing())
		}
	}
	if inFile() != 1 || h.has() != 1 {
		t.Errorf("%d in the file, %d at the hook", inFile(), h.has())
	}
	head = headAt(2)
	if _, err := p.Publish(t.Context()); err != nil || inFile() != 2 || h.has() != 2 {
		t.Errorf("%v, %d in the file, %d at the hook", err, inFile(), h.has())
	}
	h.Close()
	head = headAt(3)
	if _, err := p.Publish(t.Context()); err == nil || strings.Contains(err.Error(), "hidden") || inFile() != 3 {
		t.Errorf("a hook that is gone: %v", err)
	}
}

func TestAnEmptyLogHasNoHead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "heads")
	p := checkpoint.NewPublisher(newKey(t), func(context.Context) (commands.Head, error) { return commands.Head{}, nil }, places(t, file)...)
	if signed, err := p.Publish(t.Context()); signed != nil || err != nil {
		t.Errorf("%s, %v", signed, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("there is a list")
	}
}

// TestHeadsArePublishedAtAnInterval: at once, and again when the log has moved.
func TestHeadsArePublishedAtAnInterval(t *testing.T) {
	h := newHook(t)
	var mu sync.Mutex
	head := headAt(1)
	p := checkpoint.NewPublisher(newKey(t), func(context.Context) (commands.Head, error) {
		mu.Lock()
		defer mu.Unlock()
		head.Position++
		return head, nil
	}, places(t, h.URL)...)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan struct{})
	go func() {
		p.Run(ctx, time.Millisecond)
		close(done)
	}()
	for h.has() < 3 && ctx.Err() == nil {
		<-time.After(time.Millisecond)
	}
	cancel()
	<-done
	if h.has() < 3 {
		t.Errorf("%d arrived", h.has())
	}
}

// TestAnotherLogIsNotAccepted: shorter than the newest head it looks like a cut
// one, and the heads inside tell.
func TestAnotherLogIsNotAccepted(t *testing.T) {
	s := stores[0]
	key := newKey(t)
	file := filepath.Join(t.TempDir(), "heads")
	for _, h := range grow(t, s, s.where(t), key) {
		if err := checkpoint.Append(file, h); err != nil {
			t.Fatal(err)
		}
	}
	other := s.where(t)
	l := s.open(t, other, ticking())
	write(t, l, map[string]domain.Version{}, "z", "y", "x", "z", "y")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	stored := s.stored(t, other)
	p := checkpoint.NewPublisher(key, stored.Head, places(t, file)...)
	if broken, _ := chain.IsBroken(p.Check(t.Context(), stored)); broken == nil || broken.Kind != chain.Replaced {
		t.Errorf("at the start: %v", broken)
	}
	if gaveUp, signed, err := p.Accept(t.Context(), stored); !errors.Is(err, checkpoint.ErrAnother) || signed != nil {
		t.Errorf("by word: %+v, %v", gaveUp, err)
	}
}

// TestAnOlderCopyIsAcceptedByWord: until then the publisher refuses it, and
// whoever checks is told afterwards.
func TestAnOlderCopyIsAcceptedByWord(t *testing.T) {
	s := stores[0]
	key, url := newKey(t), s.where(t)
	heads := grow(t, s, url, key)
	file := filepath.Join(t.TempDir(), "heads")
	for _, h := range heads {
		if err := checkpoint.Append(file, h); err != nil {
			t.Fatal(err)
		}
	}
	older := s.where(t)
	l := s.open(t, older, ticking())
	write(t, l, map[string]domain.Version{}, order[:9]...)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	stored := s.stored(t, older)
	p := func() *checkpoint.Publisher { return checkpoint.NewPublisher(key, stored.Head, places(t, file)...) }
	if err := checkpoint.NewPublisher(key, stored.Head, places(t, file)...).Check(t.Context(), s.stored(t, url)); err != nil {
		t.Errorf("the log itself: %v", err)
	}
	if broken, _ := chain.IsBroken(p().Check(t.Context(), stored)); broken == nil || broken.Kind != chain.Cut {
		t.Errorf("an older copy: %v", broken)
	}
	gaveUp, signed, err := p().Accept(t.Context(), stored)
	if err != nil || gaveUp.Position != 12 || signed == nil {
		t.Fatalf("%+v, %v", gaveUp, err)
	}
	if err := p().Check(t.Context(), stored); err != nil {
		t.Errorf("after it was accepted: %v", err)
	}
	r, err := checkpoint.Check(t.Context(), stored, checkpoint.ListFile(file), key.Verifiers())
	if err != nil || r.GivenUp != 1 || r.Held != 3 || r.Newest.Position != 9 {
		t.Errorf("%+v, %v", r, err)
	}
	if gaveUp, signed, err := p().Accept(t.Context(), stored); err != nil || gaveUp.Position != 0 || signed != nil {
		t.Errorf("a second time: %+v, %v", gaveUp, err)
	}
	// What somebody else keeps does not know of it.
	if broken, _ := chain.IsBroken(func() error {
		_, err := checkpoint.Check(t.Context(), stored, listOf(heads), key.Verifiers())
		return err
	}()); broken == nil {
		t.Error("a list without the acceptance was satisfied")
	}
	// Whoever has another key accepts nothing.
	theirs := newKey(t)
	forged := must(theirs.Sign(checkpoint.Head{Mark: gaveUp.Mark, GaveUp: gaveUp.Mark}))(t)
	if _, err := checkpoint.Check(t.Context(), stored, listOf(append(heads, forged)), key.Verifiers()); err == nil {
		t.Error("another key's acceptance was taken")
	}
}

func TestWhatIsNoPlaceIsSaid(t *testing.T) {
	for _, text := range []string{"", "http://", "https://%zz/secret"} {
		if _, err := checkpoint.PlaceAt(text); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
	p := checkpoint.NewPublisher(newKey(t), func(context.Context) (commands.Head, error) { return headAt(1), nil },
		places(t, filepath.Join(t.TempDir(), "missing", "heads"))...)
	if signed, err := p.Publish(t.Context()); err == nil || signed == nil {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestAPlaceThatSendsElsewhereHasTakenNothing(t *testing.T) {
	signIn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Redirect(w, r, "/signin", http.StatusFound)
		}
	}))
	defer signIn.Close()
	head := func(context.Context) (commands.Head, error) { return commands.Head{Position: 1}, nil }
	p := checkpoint.NewPublisher(newKey(t), head, must(checkpoint.PlaceAt(signIn.URL))(t))
	if _, err := p.Publish(t.Context()); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("the head reached a page that asks to sign in: %v", err)
	}
}

func TestWhatIsNoPlaceForHeadsIsRefusedWithoutItsSecrets(t *testing.T) {
	for _, text := range []string{"ftp://u:s3kret@x/", "s3://u:s3kret@bucket", "HTTP://u:s3kret@127.0.0.1", "://s3kret", ""} {
		if p, err := checkpoint.PlaceAt(text); err == nil || strings.Contains(err.Error(), "s3kret") {
			t.Errorf("%q is %v, %v", text, p, err)
		}
	}
}

func TestAKeyThatIsNoneIsNotRepeated(t *testing.T) {
	at := filepath.Join(t.TempDir(), "log.key")
	must(checkpoint.MakeKey(at))(t)
	private, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Trust(string(private)); err == nil || strings.Contains(err.Error(), "KEY+") {
		t.Errorf("the private key is taken, or repeated: %v", err)
	}
}
