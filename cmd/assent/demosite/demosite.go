// Package demosite holds a small site of our own, the pages and articles of an
// allotment club, so that there is something to show where nobody has brought
// a folder. The club, its plots and its people are made up.
package demosite

import "embed"

// FS is the site's folder: site.yaml, six pages and nine dated articles in two
// collections, with front matter in YAML and in TOML.
//
//go:embed site.yaml pages posts notes
var FS embed.FS
