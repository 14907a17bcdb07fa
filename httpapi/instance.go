package httpapi

import (
	"context"
	"io"
	"net/http"
	"time"

	"assent/domain/policy"
)

// instance is what a program should know of a server before it starts.
type instance struct {
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Workspace  string     `json:"workspace"`
	AgentModes agentModes `json:"agentModes"`
	Features   []string   `json:"features"`
	Log        Kept       `json:"log"`
}

// Kept is what keeps the log. Where it is not atomic, what would have to write
// several things at once is answered with the code unsupported.
type Kept struct {
	By     string `json:"by"` // sqlite, postgres or eventstoredb
	Atomic bool   `json:"atomic"`
}

type agentModes struct {
	Modes            []policy.Mode `json:"modes"`
	Default          policy.Mode   `json:"default"`
	Scopes           []string      `json:"scopes"`
	AutoPublishLimit int           `json:"autoPublishLimit"`
}

// keyModes are the modes an agent with a key can have: bypass is for local
// callers.
func keyModes() (modes []policy.Mode) {
	for _, m := range policy.Modes {
		if m != policy.Bypass {
			modes = append(modes, m)
		}
	}
	return modes
}

func (s *Server) getInstance(w http.ResponseWriter, r *http.Request, who caller) error {
	ws, err := s.queries.Workspace(r.Context(), who.workspace)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, instance{
		Name:       "assent",
		Version:    s.version,
		Workspace:  who.workspace,
		AgentModes: agentModes{Modes: policy.Modes, Default: policy.Edits, Scopes: policy.Scopes, AutoPublishLimit: ws.AutoPublishLimit},
		Features:   s.features,
		Log:        s.kept,
	})
}

// getHealth says that the process answers.
func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request, _ caller) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, "ok\n")
	return nil
}

// maxBehind is how many events the read models may lag before the server says
// that it is not ready.
const maxBehind = 500

// readyWithin is how long a database may take to say that it is there.
const readyWithin = 5 * time.Second

// getReady says whether changes can be recorded and are seen soon after, and,
// though that is no reason to send nobody here, whether signed heads get where
// they should. Why not is for the server's own notes.
func (s *Server) getReady(w http.ResponseWriter, r *http.Request, _ caller) error {
	ctx, cancel := context.WithTimeout(r.Context(), readyWithin)
	defer cancel()
	state := struct {
		Ready  bool   `json:"ready"`
		Log    string `json:"log"`        // ok | unavailable
		Models string `json:"readModels"` // ok | stopped
		Behind int64  `json:"behind"`
		Heads  string `json:"signedHeads"` // ok | failing
	}{Log: "ok", Models: "ok", Heads: "ok"}
	if err := s.health.Writable(ctx); err != nil {
		s.log.WarnContext(r.Context(), "not ready: the log cannot be written", "error", err)
		state.Log = "unavailable"
	}
	behind, err := s.health.Behind(ctx)
	if err != nil {
		s.log.WarnContext(r.Context(), "not ready: the read models stand still", "error", err)
		state.Models = "stopped"
	}
	state.Behind = behind
	if err := s.health.Signed(); err != nil {
		s.log.WarnContext(r.Context(), "the log's signed heads do not get everywhere", "error", err)
		state.Heads = "failing"
	}
	state.Ready = state.Log == "ok" && state.Models == "ok" && behind <= maxBehind
	if !state.Ready {
		w.Header().Set("Retry-After", "5")
		return answer(w, http.StatusServiceUnavailable, state)
	}
	return answer(w, http.StatusOK, state)
}
