package vault_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"assent/commands/vault"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// example is a key of nobody: 32 times the byte 1, and their sum.
const example = "assent_040g2081040g2081040g2081040g2081040g2081040g2081040q5kbe"

func newKey(t testing.TB, v *vault.Vault, ws, agent, id string) string {
	t.Helper()
	key, err := v.NewKey(t.Context(), ws, agent, id, noon)
	must(t, err)
	return key
}

func TestAKeyIsRecognised(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		c := &clock{}
		c.set(noon)
		v := open(t, b.place(t), vault.WithClock(c.now))
		secret := newKey(t, v, "home", "agt_1", "key_1")
		if !regexp.MustCompile(`^assent_[0-9a-hjkmnp-tv-z]{56}$`).MatchString(secret) || !vault.WellFormedKey(secret) {
			t.Errorf("%q does not look like a key", secret)
		}
		for range 2 { // from the file, then from memory
			got, err := v.Key(t.Context(), secret)
			must(t, err)
			want := vault.Key{Workspace: "home", Agent: "agt_1", ID: "key_1", Prefix: secret[:12], Created: noon}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(vault.Key{}, "LastUsed")); diff != "" {
				t.Error(diff)
			}
		}
		_, err := v.Key(t.Context(), example)
		refused(t, err, "unauthorised")
		_, err = v.NewKey(t.Context(), "home", "agt_2", "key_1", noon)
		refused(t, err, "taken")
	})
}

func TestATypoInAKeyIsSeen(t *testing.T) {
	if !vault.WellFormedKey(example) {
		t.Fatalf("%q is not well formed", example)
	}
	for i := range example {
		for _, r := range "0189abyz-_ABZ\n\x00é" {
			typo := example[:i] + string(r) + example[i+1:]
			if typo != example && vault.WellFormedKey(typo) {
				t.Errorf("%q is well formed", typo)
			}
		}
	}
	for _, wrong := range []string{
		"", "assent_", example[1:], example[:len(example)-1], example + "0", " " + example, example + "\n", strings.ToUpper(example),
	} {
		if vault.WellFormedKey(wrong) {
			t.Errorf("%q is well formed", wrong)
		}
	}
}

func TestADroppedKeyStopsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := open(t, b.place(t))
		one, two := newKey(t, v, "home", "agt_1", "key_1"), newKey(t, v, "away", "agt_1", "key_1")
		for _, key := range []string{one, two} {
			_, err := v.Key(t.Context(), key)
			must(t, err)
		}
		must(t, v.DropKey(t.Context(), "home", "key_1"))
		must(t, v.DropKey(t.Context(), "home", "key_1"))
		_, err := v.Key(t.Context(), one)
		refused(t, err, "unauthorised")
		if _, err := v.Key(t.Context(), two); err != nil {
			t.Errorf("dropping a key dropped another workspace's: %v", err)
		}
	})
}

func TestAKeyDroppedWhileInUseStaysDropped(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := open(t, b.place(t))
		for i := range 20 {
			id := fmt.Sprintf("key_%d", i)
			key := newKey(t, v, "home", "agt_1", id)
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for range 20 {
						v.Key(t.Context(), key)
					}
				})
			}
			all.Go(func() {
				if err := v.DropKey(t.Context(), "home", id); err != nil {
					t.Error(err)
				}
				_, err := v.Key(t.Context(), key)
				refused(t, err, "unauthorised")
			})
			all.Wait()
			_, err := v.Key(t.Context(), key)
			refused(t, err, "unauthorised")
		}
	})
}

func TestKeysAreAnAgentsOwn(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		v := open(t, b.place(t))
		one, two := newKey(t, v, "home", "agt_1", "key_1"), newKey(t, v, "home", "agt_1", "key_2")
		newKey(t, v, "home", "agt_2", "key_3")
		newKey(t, v, "away", "agt_1", "key_4")
		got, err := v.Keys(t.Context(), "home", "agt_1")
		must(t, err)
		want := []vault.Key{
			{Workspace: "home", Agent: "agt_1", ID: "key_1", Prefix: one[:12], Created: noon},
			{Workspace: "home", Agent: "agt_1", ID: "key_2", Prefix: two[:12], Created: noon},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLastUseIsWrittenDownToTheMinute(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		path, c := b.place(t), &clock{}
		written := func(v *vault.Vault) time.Time { // closing writes what is left to write
			t.Helper()
			must(t, v.Close())
			v = open(t, path)
			keys, err := v.Keys(t.Context(), "home", "agt_1")
			must(t, err)
			must(t, v.Close())
			return keys[0].LastUsed
		}
		v := open(t, path, vault.WithClock(c.now))
		secret := newKey(t, v, "home", "agt_1", "key_1")
		if got := written(v); !got.IsZero() {
			t.Errorf("a key nobody used was used %v", got)
		}
		for _, step := range []struct{ at, want time.Duration }{
			{0, 0}, {59 * time.Second, 0}, {60 * time.Second, 60 * time.Second}, {61 * time.Second, 60 * time.Second},
		} {
			v := open(t, path, vault.WithClock(c.now))
			c.set(noon.Add(step.at))
			for range 3 {
				_, err := v.Key(t.Context(), secret)
				must(t, err)
			}
			if got := written(v); !got.Equal(noon.Add(step.want)) {
				t.Errorf("used after %v, last use is written as %v; want %v", step.at, got.Sub(noon), step.want)
			}
		}
	})
}

func FuzzKey(f *testing.F) {
	v := open(f, newPath(f))
	for _, seed := range []string{example, example[:20], "", "assent_", strings.Repeat("\n", 63), "assent_" + strings.Repeat("0", 56)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if vault.WellFormedKey(text) && !regexp.MustCompile(`^assent_[0-9a-hjkmnp-tv-z]{56}$`).MatchString(text) {
			t.Errorf("%q is well formed", text)
		}
		_, err := v.Key(t.Context(), text)
		refused(t, err, "unauthorised")
	})
}

func BenchmarkKey(b *testing.B) {
	eachBench(b, func(b *testing.B, kind backend) {
		v := open(b, kind.place(b))
		secret := newKey(b, v, "home", "agt_1", "key_1")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := v.Key(b.Context(), secret); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkKeyThatIsNone(b *testing.B) {
	eachBench(b, func(b *testing.B, kind backend) {
		v := open(b, kind.place(b))
		b.ReportAllocs()
		for b.Loop() {
			v.Key(b.Context(), "assent_"+example[8:]+"0")
		}
	})
}
