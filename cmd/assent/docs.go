package main

import (
	"fmt"
	"runtime/debug"

	"assent/domain/catalogue"
	"assent/mcp"
)

// version is set by the build; a build without it says what it was built from.
var version = "0.1.0"

// versionCmd prints the version.
type versionCmd struct{}

// Run prints it.
func (*versionCmd) Run(e *env) error {
	text := version
	if info, ok := debug.ReadBuildInfo(); ok {
		text += " " + info.GoVersion
	}
	if e.JSON {
		_, err := fmt.Fprintf(e.out, "{\"version\":%q}\n", version)
		return err
	}
	_, err := fmt.Fprintln(e.out, "assent", text)
	return err
}

// docsCmd prints what is generated from the declarations.
type docsCmd struct {
	What string `arg:"" enum:"tools" help:"tools"`
}

// Run prints it.
func (*docsCmd) Run(e *env) error {
	registry, err := catalogue.Actions()
	if err != nil {
		return err
	}
	_, err = e.out.Write(mcp.Reference(registry))
	return err
}
