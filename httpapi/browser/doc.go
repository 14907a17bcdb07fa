// Package browser drives the console as people do: a real Chromium against the
// real binary. It holds tests only.
package browser
