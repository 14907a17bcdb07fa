package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"assent/commands"
	"assent/commands/eventlog/chain"
	"assent/domain"
)

// How the binary ends.
const (
	exitDone    = 0
	exitFound   = 1 // a check found something
	exitUsage   = 2
	exitRefused = 3
	exitClosed  = 4 // could not reach or open
	exitUnknown = 5
	exitWaits   = 6 // waits for a person
)

// stdio is where a command reads and writes.
type stdio struct {
	in  io.ReadCloser
	out io.WriteCloser
	err io.Writer
}

// options are what every command takes: flag over environment over default.
type options struct {
	Data string `help:"Data folder." default:"./data" env:"ASSENT_DATA" type:"path"`
	JSON bool   `help:"One JSON value instead of text." name:"json"`
}

// grammar is the whole command line.
type grammar struct {
	options

	Serve       serveCmd       `cmd:"" help:"Serve people and agents."`
	Mcp         mcpCmd         `cmd:"" help:"Serve one local agent on standard input and output."`
	Import      importCmd      `cmd:"" help:"Take a folder of Markdown or HTML into a site's draft."`
	Audit       auditCmd       `cmd:"" help:"Who did what, for whom, under which rule."`
	Why         whyCmd         `cmd:"" help:"Ask the rules of an action's moment again, and compare with the record; exit 1 when they differ."`
	Simulate    simulateCmd    `cmd:"" help:"Which past actions would have waited, been refused or gone through under another mode or other rules."`
	Demo        demoCmd        `cmd:"" help:"Play the whole story with a real client."`
	Verify      verifyCmd      `cmd:"" help:"Walk the log's chain and compare it with its head and every signed head."`
	Log         logCmd         `cmd:"" help:"Sign where the log ends, copy it, or accept an older copy."`
	Backup      backupCmd      `cmd:"" help:"Copy the log into a file, while it is served."`
	Restore     restoreCmd     `cmd:"" help:"Make a data folder from a backup."`
	Projections projectionsCmd `cmd:"" help:"Read models: where they are, fold them again, compare, switch back."`
	Agents      agentsCmd      `cmd:"" help:"Agents: list them, pause or narrow one, connect a client."`
	Keys        keysCmd        `cmd:"" help:"Keys of agents: list them, end one."`
	Skills      skillsCmd      `cmd:"" help:"Ways of working that agents can declare: list them, check them."`
	Docs        docsCmd        `cmd:"" help:"Print the tool reference." hidden:""`
	Version     versionCmd     `cmd:"" help:"Print the version."`
}

// env is what a command runs in.
type env struct {
	ctx context.Context
	stdio
	options
}

// run is the program: arguments in, exit code out.
func run(ctx context.Context, args []string, std stdio) int {
	var g grammar
	exited := -1
	parser, err := kong.New(&g,
		kong.Name("assent"),
		kong.Description("Agents act; people assent."),
		kong.Writers(std.out, std.err),
		kong.Exit(func(code int) { exited = code }),
		kong.UsageOnError(),
	)
	if err != nil {
		fmt.Fprintln(std.err, "assent:", err)
		return exitUsage
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help
	}
	if err != nil {
		fmt.Fprintln(std.err, "assent:", err)
		return exitUsage
	}
	logger := slog.New(slog.NewTextHandler(std.err, nil))
	slog.SetDefault(logger)
	g.Data = filepath.Clean(g.Data)
	tuneMemory()
	return exitCode(std.err, whole(parsed.Command(), parsed.Run(&env{ctx, std, g.options})))
}

// ended is a command that says how the program ends.
type ended struct {
	code int
	says string
}

func (e ended) Error() string { return e.says }

// whole keeps a command that was stopped in the middle from ending like one that
// is done. Those that go on until they are stopped are done then.
func whole(command string, err error) error {
	name, _, _ := strings.Cut(command, " <")
	if !errors.Is(err, context.Canceled) || slices.Contains([]string{"serve", "mcp", "audit list", "demo"}, name) {
		return err
	}
	return ended{exitUnknown, "stopped before it was done; run the same command again, and it goes on or begins anew"}
}

func exitCode(out io.Writer, err error) int {
	if err == nil || errors.Is(err, context.Canceled) {
		return exitDone
	}
	if e, ok := errors.AsType[ended](err); ok {
		if e.says != "" {
			fmt.Fprintln(out, "assent:", e.says)
		}
		return e.code
	}
	if broken, ok := errors.AsType[*chain.Broken](err); ok {
		fmt.Fprintln(out, "assent:", broken)
		return exitFound
	}
	if no, ok := errors.AsType[*domain.Refusal](err); ok {
		fmt.Fprintf(out, "assent: %s (%s)\n", no.Reason, no.Code)
		return exitRefused
	}
	fmt.Fprintln(out, "assent:", strings.Join(strings.Fields(err.Error()), " ")) // a driver's errors may have lines
	if errors.Is(err, commands.ErrUnknown) {
		return exitUnknown
	}
	return exitClosed
}

// outcomeCode is the exit code of a call's end.
func outcomeCode(o commands.Outcome) int {
	switch o.Outcome {
	case commands.Refused:
		return exitRefused
	case commands.Waiting:
		return exitWaits
	case commands.Unknown:
		return exitUnknown
	}
	return exitDone
}

// terminal says that a writer is a person's terminal: tables and progress go
// there only.
func terminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
