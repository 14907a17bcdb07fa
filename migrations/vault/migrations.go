// Package vault holds the schema of the vault, one file per step.
package vault

import "embed"

// Files are the steps in goose's form. A step that was released never changes.
//
//go:embed *.sql
var Files embed.FS
