package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"assent/commands"
	"assent/domain"
)

// statuses is every code a refusal can have, and the status it is sent with.
var statuses = map[string]int{
	"malformed":       http.StatusBadRequest,
	"invalid":         http.StatusBadRequest,
	"unknown-action":  http.StatusBadRequest,
	"unsupported":     http.StatusBadRequest,
	"unauthorised":    http.StatusUnauthorized,
	"scope":           http.StatusForbidden,
	"skill":           http.StatusForbidden,
	"permission":      http.StatusForbidden,
	"sign-in-again":   http.StatusForbidden,
	"mode":            http.StatusForbidden,
	"never":           http.StatusForbidden,
	"paused":          http.StatusForbidden,
	"person-only":     http.StatusForbidden,
	"not-a-person":    http.StatusForbidden,
	"revoked":         http.StatusForbidden, // of another's key: see ownKey
	"not-found":       http.StatusNotFound,
	"stale":           http.StatusConflict,
	"taken":           http.StatusConflict,
	"withdrawn":       http.StatusConflict,
	"undo-conflict":   http.StatusConflict,
	"command-reused":  http.StatusConflict,
	"already-decided": http.StatusConflict,

	"changed-since-shown": http.StatusConflict,

	"expired":         http.StatusGone,
	"undo-window":     http.StatusGone,
	"final":           http.StatusGone,
	"limit":           http.StatusRequestEntityTooLarge,
	"too-large":       http.StatusRequestEntityTooLarge,
	"slow-down":       http.StatusTooManyRequests,
	"unknown":         http.StatusServiceUnavailable,
	"busy":            http.StatusServiceUnavailable,
	"log-unavailable": http.StatusServiceUnavailable,
}

// fault is the code of what should not have happened. It is no refusal: the
// caller did nothing wrong and can do nothing about it.
const fault = "fault"

// Problem is a no over HTTP, as RFC 9457 has it.
type Problem struct {
	Type    string            `json:"type"` // about:blank: the code says it all
	Title   string            `json:"title"`
	Status  int               `json:"status"`
	Code    string            `json:"code"`
	Detail  string            `json:"detail"`
	Call    string            `json:"call,omitempty"` // names a fault in the server's own notes
	Outcome *commands.Outcome `json:"outcome,omitempty"`

	retry time.Duration
}

// Error is the detail, so that a problem can travel as an error.
func (p *Problem) Error() string { return p.Detail }

func newProblem(code, detail string) *Problem {
	status, known := statuses[code]
	if !known {
		status = http.StatusInternalServerError
	}
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		p.retry = time.Second
	}
	return p
}

// tooSoon is a caller who asks faster than is allowed.
type tooSoon struct{ wait time.Duration }

func (t tooSoon) Error() string { return "Too many tries. Wait a little and try again." }

// problemOf turns whatever went wrong into what the caller is told. Faults are
// logged here, once, under an id that the caller is shown.
func (s *Server) problemOf(r *http.Request, err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if refusal, ok := errors.AsType[*domain.Refusal](err); ok && statuses[refusal.Code] != 0 {
		return newProblem(refusal.Code, refusal.Reason)
	}
	if slow, ok := errors.AsType[tooSoon](err); ok {
		p := newProblem("slow-down", slow.Error())
		p.retry = max(slow.wait, time.Second)
		return p
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return newProblem("too-large", "This is more than 1 MiB, which is the most that is taken at once. Send less.")
	}
	switch {
	case errors.Is(err, commands.ErrUnavailable):
		p := newProblem("log-unavailable", "Changes cannot be recorded at the moment, so none are made. Reading goes on. Try again shortly.")
		p.retry = 5 * time.Second
		return p
	case errors.Is(err, commands.ErrUnknown):
		return newProblem("unknown", "Whether this was done is not known. Ask again in the same way to find out.")
	case errors.Is(err, commands.ErrBusy), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return newProblem("busy", "The server is busy. Nothing was changed; try again in a moment.")
	case commands.Away(err) && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return newProblem("busy", "A database does not answer just now. Try again in a moment.")
	case commands.Away(err):
		return newProblem("unknown", "A database stopped answering, so whether this was done is not known. Ask again in the same way to find out.")
	}
	p := newProblem(fault, "Something went wrong on our side. If it stays so, give this to whoever runs the server: ")
	p.Call = string(domain.NewID("call", s.now()))
	p.Detail += p.Call
	s.log.ErrorContext(r.Context(), "request failed", slog.String("call", p.Call),
		slog.String("method", r.Method), slog.String("route", routeOf(r)), slog.Any("error", err))
	return p
}

// refused is the problem of an outcome that is a no, or nil.
func refused(out commands.Outcome) error {
	switch out.Outcome {
	case commands.Refused:
		r := out.Refusal
		if r == nil {
			r = domain.Refuse(fault, "This was refused.")
		}
		p := newProblem(r.Code, r.Reason)
		p.Outcome = &out
		return p
	case commands.Unknown:
		p := newProblem("unknown", "Whether this was done is not known. Ask again in the same way to find out.")
		p.Outcome = &out
		return p
	}
	return nil
}

// ownKey makes the no to a caller whose own key is revoked or over one about
// who calls: they are as unknown as with no key at all.
func ownKey(err error) error {
	if p, ok := errors.AsType[*Problem](err); ok && p.Code == "revoked" {
		p.Status, p.Title = http.StatusUnauthorized, http.StatusText(http.StatusUnauthorized)
	}
	return err
}

// fail answers a program.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := s.problemOf(r, err)
	p.headers(w, r)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the reader may be gone; there is nobody left to tell
}

func (p *Problem) headers(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if p.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int((p.retry+time.Second-1)/time.Second)))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="assent"`)
	}
}

// answer sends a value to a program.
func answer(w http.ResponseWriter, status int, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
	return nil
}

// conclude sends an outcome: 200 when it is settled, 202 when it waits, a
// problem when it is a no.
func conclude(w http.ResponseWriter, out commands.Outcome) error {
	if err := refused(out); err != nil {
		return err
	}
	if out.Outcome == commands.Waiting {
		return answer(w, http.StatusAccepted, out)
	}
	return answer(w, http.StatusOK, out)
}
