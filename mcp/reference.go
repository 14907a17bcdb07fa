package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assent/domain/action"
)

// Reference is the page about every tool, in Markdown, derived from the
// declarations. It is committed as TOOLS.md.
func Reference(registry *action.Registry) []byte {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	tools := toolsOf(registry)
	b.WriteString("\n| tool | what it does | needs | kind |\n|---|---|---|---|\n")
	for _, t := range tools {
		a := t.action
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s |\n", a.Tool(), a.Tool(), a.Title, needs(a), kindOf(a))
	}
	for _, t := range tools {
		writeTool(&b, t.action)
	}
	writeJobs(&b, registry)
	return b.Bytes()
}

// writeJobs tells what clients show to people beside the tools.
func writeJobs(b *bytes.Buffer, registry *action.Registry) {
	b.WriteString("\n## Jobs\n\nJobs (prompts) are what people pick from their client's menu. Each is offered to whoever has the tools it needs.\n\n| job | what it does | asks for |\n|---|---|---|\n")
	for _, p := range promptsOf(registry) {
		asks := make([]string, len(p.def.Arguments))
		for i, a := range p.def.Arguments {
			asks[i] = "`" + a.Name + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.def.Name, p.def.Description, strings.Join(asks, ", "))
	}
	b.WriteString("\n## Addresses\n\nWhat can be attached to a conversation (resources). Sites are listed; the rest is found by its id, which clients complete.\n\n| address | what is there |\n|---|---|\n")
	for _, r := range resources() {
		fmt.Fprintf(b, "| `%s` | %s |\n", r.template(), r.about)
	}
}

const referenceHead = `# Tools

Every tool an agent can be given, with its arguments. This page is generated from the declarations of the actions
(` + "`assent docs tools`" + `); do not edit it.

An agent sees the tools that its key reaches, each with a note when its mode refuses it or makes it wait. Arguments that
are not named here are refused. Every tool that changes something also takes:

| argument | |
|---|---|
| ` + "`reason`" + ` | why, in a sentence; kept with the change |
| ` + "`dry_run`" + ` | show what would happen and change nothing |
| ` + "`command_id`" + ` | your own id for this request; asking again with it gives the first answer |
| ` + "`confirm_token`" + ` | only where the agent's owner allowed confirming |

A call ends as ` + "`done`, `idle`, `waiting`, `refused`, `rehearsed` or `unknown`" + `. What waits has a proposal that a
person decides on. What is unknown is asked again under the same ` + "`command_id`" + `.
`

func needs(a *action.Action) string {
	if a.Scope == "any" {
		return "nothing"
	}
	return "`" + a.Scope + "`"
}

func kindOf(a *action.Action) string {
	if a.Gate != "" {
		return "always waits for a person"
	}
	switch a.Class {
	case action.Read:
		return "reads"
	case action.Oneself:
		return "one's own affairs"
	case action.Content:
		return "changes the draft"
	case action.Publish:
		return "publishes"
	case action.Destructive:
		return "takes something away"
	}
	return string(a.Class)
}

func writeTool(b *bytes.Buffer, a *action.Action) {
	fmt.Fprintf(b, "\n## %s\n\n**%s.** %s\n", a.Tool(), strings.TrimRight(a.Title, ".?"), a.About)
	var s schemaText
	if err := json.Unmarshal(a.Schema(), &s); err != nil {
		panic(fmt.Sprintf("schema of %s: %v", a.Name, err)) // a declaration that cannot be described is a bug
	}
	if names := s.names(); len(names) > 0 {
		b.WriteString("\n| argument | type | |\n|---|---|---|\n")
		for _, name := range names {
			p := s.Properties[name]
			must := ""
			if slices.Contains(s.Required, name) {
				must = " (required)"
			}
			fmt.Fprintf(b, "| `%s`%s | %s | %s |\n", name, must, p.plainType(), strings.ReplaceAll(p.Description, "|", `\|`))
		}
	} else {
		b.WriteString("\nIt takes no arguments.\n")
	}
	example, err := json.MarshalIndent(a.Example, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("example of %s: %v", a.Name, err))
	}
	fmt.Fprintf(b, "\n```json\n%s\n```\n", example)
}

// schemaText is as much of a schema as the page shows.
type schemaText struct {
	Type        any                   `json:"type"`
	Description string                `json:"description"`
	Enum        []string              `json:"enum"`
	Items       *schemaText           `json:"items"`
	Required    []string              `json:"required"`
	Properties  map[string]schemaText `json:"properties"`
}

// names are the arguments of its own, required ones first.
func (s schemaText) names() []string {
	optional := slices.DeleteFunc(slices.Sorted(maps.Keys(s.Properties)), func(name string) bool {
		return slices.Contains(s.Required, name) || isCommon(name)
	})
	return append(slices.Clone(s.Required), optional...)
}

func isCommon(name string) bool {
	return name == "reason" || name == "dry_run" || name == "command_id" || name == "confirm_token"
}

func (s schemaText) plainType() string {
	if len(s.Enum) > 0 {
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	}
	switch typeName(s.Type) {
	case "string":
		return "text"
	case "integer":
		return "whole number"
	case "boolean":
		return "true or false"
	case "array":
		if s.Items == nil {
			return "list"
		}
		return "list of " + s.Items.plainType()
	}
	return typeName(s.Type)
}

// typeName is the one type a value has beside null.
func typeName(t any) string {
	switch t := t.(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok && name != "null" {
				return name
			}
		}
	}
	return "anything"
}
