// Package httpapi is the door for people and for programs that speak plain
// HTTP: sign-in and sessions, the console people decide in, the interface under
// /api/v1, previews, and the live sites.
//
// Every change goes down Road.Do, every decision to the Desk; the console's
// forms and the interface call the same functions. This is the one package
// that makes a domain.Person, and it makes one out of a live session only: a
// key is never read where people decide, and a cookie never where a key is
// meant.
//
// What this package needs of accounts, read models and content it asks through
// the small ports in ports.go. How to read it: server.go is the table of
// routes and who may call them, guard.go what every request passes, then one
// file a subject.
package httpapi
