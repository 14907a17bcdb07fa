package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// content is the real site the demo is played on: it lies beside the checkout.
func content(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("ASSENT_CONTENT")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data", "18f")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("there is no content to play on at %s; name another folder in ASSENT_CONTENT: %v", dir, err)
	}
	return dir
}

// TestDemo plays the demo through the binary and compares what it prints.
func TestDemo(t *testing.T) {
	for name, args := range map[string][]string{
		"ours": {"demo"},
		"18f":  {"demo", "--content", content(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t.Context(), args...)
			var errors bytes.Buffer
			cmd.Stderr = &errors
			got, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, got, &errors)
			}
			golden := filepath.Join("testdata", "demo-"+filepath.Base(name)+".txt")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
