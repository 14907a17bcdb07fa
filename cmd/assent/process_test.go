package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// process is the real binary, serving.
type process struct {
	*exec.Cmd
	url, printed string
	errors       *bytes.Buffer
}

// start runs `assent serve` on a folder and waits until it has said where it
// is.
func start(t testing.TB, dir string) *process { return startAs(t, "assent", dir) }

func startAs(t testing.TB, as, dir string) *process {
	t.Helper()
	cmd := command(context.WithoutCancel(t.Context()), "serve", "--data", dir, "--listen", "127.0.0.1:0", "--workspaces", "home,other")
	cmd.Env = append(cmd.Env, "ASSENT_TEST_MAIN="+as)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: cmd, errors: &bytes.Buffer{}}
	cmd.Stderr = p.errors
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(printed.String(), "ASSENT_KEY") {
		n, err := out.Read(buf)
		printed.Write(buf[:n])
		if err != nil {
			t.Fatalf("serve ended: %v\n%s\n%s", cmd.Wait(), printed.String(), p.errors)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	p.printed = printed.String()
	p.url = regexp.MustCompile(`Console\s+(\S+)`).FindStringSubmatch(p.printed)[1]
	t.Cleanup(func() { p.stop(t) })
	return p
}

// stop ends the server as a person would, unless it is gone already.
func (p *process) stop(t testing.TB) {
	if p.ProcessState != nil {
		return
	}
	_ = p.Process.Signal(os.Interrupt)
	if err := p.Wait(); err != nil {
		t.Errorf("serve ended badly: %v\n%s", err, p.errors)
	}
}

// kill ends it without warning.
func (p *process) kill(t testing.TB) {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // it says that it was killed
}
