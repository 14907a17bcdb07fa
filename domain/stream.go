package domain

import (
	"fmt"
	"strings"
)

// Stream names one thing's history: `<category>-<workspace>/<id>`, for example
// `article-home/art_06g…`. The workspace is part of every name, so what
// belongs to one workspace can never be reached by naming a thing of another.
type Stream struct {
	Category  string // a kind of thing: article, page, live, …
	Workspace string
	ID        string // may hold slashes; never empty
}

// Version counts the events of one stream, from 1. Zero is a stream without
// events.
type Version int64

// Position is an event's place in the whole log, from 1. Zero is before
// everything. Positions are never written inside events: a log can be copied.
type Position int64

// String is the stream's name in the log.
func (s Stream) String() string { return s.Category + "-" + s.Workspace + "/" + s.ID }

// IsZero says that no stream is named.
func (s Stream) IsZero() bool { return s == Stream{} }

// In is the same kind's other thing in the same workspace.
func (s Stream) In(category, id string) Stream {
	return Stream{Category: category, Workspace: s.Workspace, ID: id}
}

// ParseStream reads a name that String wrote.
func ParseStream(name string) (Stream, error) {
	head, id, ok := strings.Cut(name, "/")
	category, workspace, ok2 := strings.Cut(head, "-")
	if !ok || !ok2 || category == "" || workspace == "" || id == "" {
		return Stream{}, fmt.Errorf("stream name %q is not <category>-<workspace>/<id>", name)
	}
	return Stream{category, workspace, id}, nil
}
