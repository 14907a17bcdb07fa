package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/projections"
)

// The server that owns a folder listens on a socket in it, for its own user
// only: whoever can open the socket could read and replace the files too.

func socketOf(dir string) string { return filepath.Join(dir, "assent.sock") }

// listenLocal opens the socket. The folder's lock is held, so what is there is
// a leftover.
func listenLocal(dir string) (net.Listener, error) {
	path := socketOf(dir)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("make room for the socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the socket for local commands: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// asked is one local call on its way through the socket.
type asked struct {
	Who    localCaller     `json:"who"`
	Action string          `json:"action,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	Audit  *auditQuery     `json:"audit,omitempty"`

	Export      *exportQuery      `json:"export,omitempty"`
	Projections *projectionsQuery `json:"projections,omitempty"`
	Why         *whyQuery         `json:"why,omitempty"`
	Simulate    *simulateQuery    `json:"simulate,omitempty"`
	Agents      *rosterQuery      `json:"agents,omitempty"`
}

// answered is what comes back, a line each: the answer, and the end.
type answered struct {
	Outcome *commands.Outcome `json:"outcome,omitempty"`
	Audit   json.RawMessage   `json:"audit,omitempty"`
	Refusal *domain.Refusal   `json:"refusal,omitempty"`
	Fault   string            `json:"fault,omitempty"`
	End     bool              `json:"end,omitempty"`

	Exported    *exportedLine         `json:"exported,omitempty"`
	Projections json.RawMessage       `json:"projections,omitempty"`
	Progress    *projections.Progress `json:"progress,omitempty"`

	Why       *commands.Why       `json:"why,omitempty"`
	Simulated *commands.Simulated `json:"simulated,omitempty"`
	Totals    *commands.Totals    `json:"totals,omitempty"`

	Agents *roster `json:"agents,omitempty"`
}

// localHandler is the server's half.
func (h *house) localHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /call", func(w http.ResponseWriter, r *http.Request) {
		serveLocal(w, r, func(ctx context.Context, a asked, say func(answered)) error {
			out, err := h.doLocal(ctx, a.Who, true, a.Action, a.Args)
			if err == nil {
				say(answered{Outcome: &out})
			}
			return err
		})
	})
	mux.HandleFunc("POST /audit", func(w http.ResponseWriter, r *http.Request) {
		serveLocal(w, r, func(ctx context.Context, a asked, say func(answered)) error {
			if a.Audit == nil {
				a.Audit = &auditQuery{}
			}
			page, err := h.Audit(ctx, *a.Audit)
			if err == nil {
				say(answered{Audit: page})
			}
			return err
		})
	})
	mux.HandleFunc("POST /export", func(w http.ResponseWriter, r *http.Request) {
		serveLocal(w, r, func(ctx context.Context, a asked, say func(answered)) error {
			if a.Export == nil {
				a.Export = &exportQuery{}
			}
			return h.Export(ctx, *a.Export, func(l exportedLine) error {
				say(answered{Exported: &l})
				return ctx.Err() // whoever asked may be gone
			})
		})
	})
	mux.HandleFunc("POST /projections", func(w http.ResponseWriter, r *http.Request) {
		serveLocal(w, r, func(ctx context.Context, a asked, say func(answered)) error {
			if a.Projections == nil {
				a.Projections = &projectionsQuery{}
			}
			answer, err := h.Projections(ctx, *a.Projections, func(p projections.Progress) { say(answered{Progress: &p}) })
			if answer != nil {
				say(answered{Projections: answer})
			}
			return err
		})
	})
	mux.HandleFunc("POST /why", func(w http.ResponseWriter, r *http.Request) {
		serveLocal(w, r, func(ctx context.Context, a asked, say func(answered)) error {
			if a.Why == nil {
				a.Why = &whyQuery{}
			}
			why, err := h.Why(ctx, *a.Why)
			if err == nil {
				say(answered{Why: &why})
			}
			return err
		})
	})
	mux.HandleFunc("POST /simulate", func(w http.ResponseWriter, r *http.Request) {
		serveLocal(w, r, func(ctx context.Context, a asked, say func(answered)) error {
			if a.Simulate == nil {
				a.Simulate = &simulateQuery{}
			}
			totals, err := h.Simulate(ctx, *a.Simulate, func(s commands.Simulated) error {
				say(answered{Simulated: &s})
				return ctx.Err() // whoever asked may be gone
			})
			if err == nil {
				say(answered{Totals: &totals})
			}
			return err
		})
	})
	mux.HandleFunc("POST /agents", func(w http.ResponseWriter, r *http.Request) {
		serveLocal(w, r, func(ctx context.Context, a asked, say func(answered)) error {
			if a.Agents == nil {
				a.Agents = &rosterQuery{Workspace: defaultWorkspace}
			}
			all, err := h.Agents(ctx, *a.Agents)
			if err == nil {
				say(answered{Agents: &all})
			}
			return err
		})
	})
	mux.HandleFunc("POST /speak", h.speakOverSocket)
	return mux
}

func serveLocal(w http.ResponseWriter, r *http.Request, do func(context.Context, asked, func(answered)) error) {
	var a asked
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	enc, flush := json.NewEncoder(w), http.NewResponseController(w)
	say := func(a answered) {
		_ = enc.Encode(a) // the other end may be gone; then nobody listens
		_ = flush.Flush()
	}
	last := answered{End: true}
	switch err := do(r.Context(), a, say); {
	case err == nil:
	default:
		last = faultOf(err)
	}
	say(last)
}

// faultOf carries an error through the socket so that it ends the command as
// it would have ended it in a house of its own.
func faultOf(err error) answered {
	a := answered{End: true}
	if no, ok := errors.AsType[*domain.Refusal](err); ok {
		a.Refusal = no
	} else {
		a.Fault = err.Error()
	}
	return a
}

func (a answered) err() error {
	switch {
	case a.Refusal != nil:
		return a.Refusal
	case a.Fault != "":
		return errors.New(a.Fault)
	}
	return nil
}

// speakOverSocket gives the connection to the agent's door.
func (h *house) speakOverSocket(w http.ResponseWriter, r *http.Request) {
	var who localCaller
	if err := json.Unmarshal([]byte(r.Header.Get("Assent-Caller")), &who); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if _, err := h.caller(r.Context(), who, true); err != nil {
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(faultOf(err)) // the other end may be gone; then nobody listens
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: assent-agent\r\n\r\n"); err != nil {
		return
	}
	in := readingHalf{buffered, conn}
	if err := h.speakLocal(context.WithoutCancel(r.Context()), who, true, in, conn); err != nil && !errors.Is(err, net.ErrClosed) {
		slog.Error("a local agent's stream", "error", err)
	}
}

// readingHalf is what comes in on a connection. Closing it leaves the other
// half open: what was asked by then is still answered.
type readingHalf struct {
	io.Reader
	conn net.Conn
}

func (h readingHalf) Close() error {
	if half, ok := h.conn.(*net.UnixConn); ok {
		return half.CloseRead()
	}
	return h.conn.SetReadDeadline(time.Now())
}

// joined is a local process that goes through the server.
type joined struct {
	dir  string
	http *http.Client
}

// join reaches the server of a folder through its socket.
func join(ctx context.Context, dir string) (local, error) {
	j := &joined{dir: dir}
	j.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return j.dial(ctx) },
	}}
	conn, err := j.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("the data folder %s is in use, and whoever uses it does not answer: %w", dir, err)
	}
	return j, conn.Close()
}

// dial reaches the socket.
func (j *joined) dial(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{Timeout: 3 * time.Second}
	return d.DialContext(ctx, "unix", socketOf(j.dir))
}

// ask sends one request and hears every answer to it.
func (j *joined) ask(ctx context.Context, path string, a asked, hear func(answered)) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://assent"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := j.http.Do(req)
	if err != nil {
		return fmt.Errorf("ask the server of %s: %w", j.dir, err)
	}
	defer func() { _ = res.Body.Close() }()
	dec := json.NewDecoder(res.Body)
	for {
		var got answered
		if err := dec.Decode(&got); err != nil {
			return fmt.Errorf("the server of %s stopped answering; whether it was done is not known: %w", j.dir, errors.Join(commands.ErrUnknown, err))
		}
		if got.End {
			return got.err()
		}
		hear(got)
	}
}

func (j *joined) Do(ctx context.Context, who localCaller, a *action.Action, args any) (out commands.Outcome, err error) {
	raw, err := argsOf(args)
	if err != nil {
		return out, err
	}
	err = j.ask(ctx, "/call", asked{Who: who, Action: a.Name, Args: raw}, func(got answered) { out = *got.Outcome })
	return out, err
}

func (j *joined) Audit(ctx context.Context, q auditQuery) (page json.RawMessage, err error) {
	err = j.ask(ctx, "/audit", asked{Audit: &q}, func(got answered) { page = got.Audit })
	return page, err
}

func (j *joined) Export(ctx context.Context, q exportQuery, each func(exportedLine) error) error {
	return hearing(ctx, func(ctx context.Context, hear func(answered)) error {
		return j.ask(ctx, "/export", asked{Export: &q}, hear)
	}, func(got answered) error {
		if got.Exported == nil {
			return nil
		}
		return each(*got.Exported)
	})
}

func (j *joined) Agents(ctx context.Context, q rosterQuery) (all roster, err error) {
	err = j.ask(ctx, "/agents", asked{Agents: &q}, func(got answered) {
		if got.Agents != nil {
			all = *got.Agents
		}
	})
	return all, err
}

// hearing asks until whoever hears the answers has enough: its error then is
// the answer.
func hearing(ctx context.Context, ask func(context.Context, func(answered)) error, hear func(answered) error) error {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	var failed error
	err := ask(ctx, func(got answered) {
		if failed == nil {
			if failed = hear(got); failed != nil {
				enough() // nobody hears the rest
			}
		}
	})
	if failed != nil {
		return failed
	}
	return err
}

func (j *joined) Projections(ctx context.Context, q projectionsQuery, progress func(projections.Progress)) (answer json.RawMessage, err error) {
	err = j.ask(ctx, "/projections", asked{Projections: &q}, func(got answered) {
		if got.Progress != nil {
			progress(*got.Progress)
		} else {
			answer = got.Projections
		}
	})
	return answer, err
}

func (j *joined) Why(ctx context.Context, q whyQuery) (why commands.Why, err error) {
	err = j.ask(ctx, "/why", asked{Why: &q}, func(got answered) {
		if got.Why != nil {
			why = *got.Why
		}
	})
	return why, err
}

func (j *joined) Simulate(ctx context.Context, q simulateQuery, each func(commands.Simulated) error) (totals commands.Totals, err error) {
	err = hearing(ctx, func(ctx context.Context, hear func(answered)) error {
		return j.ask(ctx, "/simulate", asked{Simulate: &q}, hear)
	}, func(got answered) error {
		switch {
		case got.Totals != nil:
			totals = *got.Totals
		case got.Simulated != nil:
			return each(*got.Simulated)
		}
		return nil
	})
	return totals, err
}

// Speak joins two streams: this process's and the server's.
func (j *joined) Speak(ctx context.Context, who localCaller, in io.ReadCloser, out io.WriteCloser) error {
	conn, err := j.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	caller, err := json.Marshal(who)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "POST /speak HTTP/1.1\r\nHost: assent\r\nAssent-Caller: %s\r\nContent-Length: 0\r\n\r\n", caller); err != nil {
		return err
	}
	from := bufio.NewReader(conn)
	res, err := http.ReadResponse(from, nil)
	if err != nil {
		return err
	}
	if res.StatusCode == http.StatusConflict {
		var no answered
		if err := json.NewDecoder(res.Body).Decode(&no); err != nil {
			return err
		}
		return no.err()
	}
	if res.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the server of %s does not speak to local agents: %s", j.dir, res.Status)
	}
	go func() {
		_, _ = io.Copy(conn, in) // ends with the agent's own stream
		if half, ok := conn.(*net.UnixConn); ok {
			_ = half.CloseWrite()
		}
	}()
	_, err = io.Copy(out, from)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (j *joined) Close() error {
	j.http.CloseIdleConnections()
	return nil
}
