package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/domain"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"

	// modern is the first version of the protocol without sessions.
	modern = "2026-07-28"
	// lastHandshake is the newest version of the protocol that has one.
	lastHandshake = "2025-11-25"

	sessionTimeout = 10 * time.Minute // without a request
)

// newHandler is everything a request passes, outermost first.
func (d *Door) newHandler() (http.Handler, error) {
	cross := http.NewCrossOriginProtection()
	for _, o := range d.origins {
		if err := cross.AddTrustedOrigin(o); err != nil {
			return nil, fmt.Errorf("the web origin %q cannot be read: %w", o, err)
		}
	}
	verified := auth.RequireBearerToken(tokenOf, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	inner := verified(d.bothAges())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer d.survive(w, r)
		w.Header().Set("X-Accel-Buffering", "no") // proxies must not hold streams back
		if no := d.stranger(r, cross); no != nil {
			d.strangers.count(no.Code)
			refuse(w, http.StatusForbidden, no)
			return
		}
		who, ok := d.identify(w, r)
		if !ok {
			return
		}
		if !d.paced(w, r, who) {
			return
		}
		if !d.requests.enter(who.owner()) {
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusTooManyRequests, domain.Refuse("slow-down", "This key has %d requests under way. Wait for their answers.", maxRequests))
			return
		}
		defer d.requests.leave(who.owner())
		answered, open := d.underWay.begin(r)
		if !open {
			w.Header().Set("Retry-After", "5")
			refuse(w, http.StatusServiceUnavailable, domain.Refuse("busy", "The server is closing. Ask again in a moment."))
			return
		}
		defer answered()
		if d.admit(w, r, who) {
			inner.ServeHTTP(w, forwarded(r, who))
		}
	}), nil
}

// bothAges serves clients with and without sessions at one address.
func (d *Door) bothAges() http.Handler {
	server := func(*http.Request) *sdk.Server { return d.server }
	// Host is checked by stranger, which also knows the hosts that were allowed.
	stateless := func(plain bool) http.Handler {
		return sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{
			Stateless: true, JSONResponse: plain, PropagateRequestCancellation: true,
			DisableLocalhostProtection: true, MaxRequestBodyBytes: maxMessage,
		})
	}
	plain, talking := stateless(true), stateless(false)
	stateful := sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{
		SessionTimeout: sessionTimeout, DisableLocalhostProtection: true, MaxRequestBodyBytes: maxMessage,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read, _ := r.Body.(body)
		switch {
		case r.Header.Get(versionHeader) < modern: // may be asked something, on its own stream
			stateful.ServeHTTP(w, r)
		case read.wantsWord():
			talking.ServeHTTP(w, r)
		default:
			plain.ServeHTTP(w, r)
		}
	})
}

// body is a request's message, read and let in.
type body struct {
	*bytes.Reader
	message []byte
}

// Close does nothing: it was read to its end.
func (body) Close() error { return nil }

// wantsWord says that the client wants to hear on the way: of progress, or what
// is logged. Others get a plain answer, which costs less. A message that only
// mentions either is answered in the other way, and no worse.
func (b body) wantsWord() bool {
	return bytes.Contains(b.message, []byte(`"progressToken"`)) ||
		bytes.Contains(b.message, []byte(`"`+sdk.MetaKeyLogLevel+`"`)) //nolint:staticcheck // going out of the protocol, and spoken as long as clients do
}

// survive keeps a fault in one request from being more than that.
func (d *Door) survive(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v) // how a handler gives a connection up
	}
	d.logger.ErrorContext(r.Context(), "a request went wrong", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	refuse(w, http.StatusInternalServerError, domain.Refuse("busy", "Something went wrong; nothing is known to have changed."))
}

// stranger says why a request may not come from where it comes: a page of
// another site that was opened in a browser on this machine.
func (d *Door) stranger(r *http.Request, cross *http.CrossOriginProtection) *domain.Refusal {
	if !d.isHost(r.Host) {
		return domain.Refuse("host", "This server does not answer to that host name. Use its own address, or let its operator allow the name.")
	}
	foreign := domain.Refuse("origin", "Pages of other sites may not call this server.")
	for _, origin := range r.Header.Values("Origin") { // GET as well, which cross lets pass
		if !d.isOrigin(origin, r.Host) {
			return foreign
		}
	}
	if cross.Check(r) != nil {
		return foreign
	}
	return nil
}

func (d *Door) isHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" {
		return true
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(d.hosts, func(allowed string) bool { return strings.EqualFold(allowed, host) })
}

func (d *Door) isOrigin(origin, host string) bool {
	if slices.Contains(d.origins, origin) {
		return true
	}
	o, err := url.Parse(origin)
	return err == nil && o.Host != "" && strings.EqualFold(o.Host, host)
}

// identify finds out who calls, and answers when it cannot.
func (d *Door) identify(w http.ResponseWriter, r *http.Request) (Caller, bool) {
	if keyInAddress(r.URL) {
		d.strangers.count("invalid")
		refuse(w, http.StatusBadRequest, domain.Refuse("invalid", "A key never belongs into an address, where it is written down on the way. Have this one revoked, and send a new one as `Authorization: Bearer` or `x-api-key`."))
		return Caller{}, false
	}
	secret, no := secretOf(r.Header)
	if no != nil {
		d.strangers.count(no.Code)
		unauthorised(w, no)
		return Caller{}, false
	}
	holder, err := d.keyOf(r.Context(), secret)
	if err != nil {
		d.turnAway(w, r, err)
		return Caller{}, false
	}
	return Caller{
		Workspace: holder.Workspace,
		Principal: domain.Principal{Kind: domain.KindAgent, ID: holder.Agent},
		Via:       domain.Via{Key: holder.Key},
	}, true
}

func (d *Door) keyOf(ctx context.Context, secret string) (KeyHolder, error) {
	if d.keys == nil {
		return KeyHolder{}, errUnknownKey
	}
	return d.keys.Key(ctx, secret)
}

// turnAway answers for a key that opens nothing, or could not be looked at.
func (d *Door) turnAway(w http.ResponseWriter, r *http.Request, err error) {
	no, meant := errors.AsType[*domain.Refusal](err)
	switch {
	case meant && no.Code == "slow-down":
		d.strangers.count(no.Code)
		w.Header().Set("Retry-After", "60")
		refuse(w, http.StatusTooManyRequests, no)
	case meant:
		d.strangers.count(errUnknownKey.Code)
		unauthorised(w, errUnknownKey)
	default:
		d.logger.ErrorContext(r.Context(), "a key could not be looked at", "err", err)
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, domain.Refuse("busy", "The key could not be looked at. Ask again in a moment."))
	}
}

var (
	errNoKey      = domain.Refuse("unauthorised", "This needs a key: send it as `Authorization: Bearer` or `x-api-key`.")
	errTwoKeys    = domain.Refuse("unauthorised", "Send one key, in one place.")
	errUnknownKey = domain.Refuse("unauthorised", "This key is not known here, or it is over. Ask your owner for a new one.")
)

// maxSecret is far above the length of a key in bytes.
const maxSecret = 512

// secretOf takes the key out of the two places it may be in. Cookies are not
// among them: a browser sends those by itself.
func secretOf(h http.Header) (string, *domain.Refusal) {
	var found []string
	for _, v := range h.Values("Authorization") {
		scheme, secret, _ := strings.Cut(v, " ")
		if strings.EqualFold(scheme, "Bearer") {
			found = append(found, strings.TrimSpace(secret))
		}
	}
	found = append(found, h.Values("X-Api-Key")...)
	found = slices.Compact(found)
	switch {
	case len(found) == 0 || found[0] == "":
		return "", errNoKey
	case len(found) > 1:
		return "", errTwoKeys
	case len(found[0]) > maxSecret:
		return "", errUnknownKey
	}
	return found[0], nil
}

// keyInAddress says that a query looks like a key, by name or by value.
func keyInAddress(u *url.URL) bool {
	if u.RawQuery == "" {
		return false
	}
	if strings.Contains(u.RawQuery, "assent_") {
		return true
	}
	for name := range u.Query() {
		switch strings.ToLower(name) {
		case "key", "api_key", "apikey", "api-key", "x-api-key", "access_token", "token", "authorization", "bearer":
			return true
		}
	}
	return false
}

// admit answers what is not worth handing on: other methods, streams without a
// session, and bodies that do not pass the gate.
func (d *Door) admit(w http.ResponseWriter, r *http.Request, who Caller) bool {
	switch r.Method {
	case http.MethodPost:
		return d.admitBody(w, r, who)
	case http.MethodGet:
		// Some clients open a stream before they have a session, and take
		// anything but 405 for a broken server.
		if r.Header.Get(sessionHeader) != "" {
			return true
		}
		w.Header().Set("Allow", "POST, DELETE")
	case http.MethodDelete:
		return true
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
	}
	refuse(w, http.StatusMethodNotAllowed, domain.Refuse("unsupported", "Send a POST."))
	return false
}

func (d *Door) admitBody(w http.ResponseWriter, r *http.Request, who Caller) bool {
	// A body that drips in would keep its place for ever.
	arrive := http.NewResponseController(w)
	_ = arrive.SetReadDeadline(time.Now().Add(d.patience.body)) // where there is no connection there is nothing to wait for
	message, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	_ = arrive.SetReadDeadline(time.Time{})
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		d.turnedAway(r.Context(), who.call(), tooLarge)
		refuse(w, http.StatusRequestEntityTooLarge, tooLarge)
		return false
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		d.turnedAway(r.Context(), who.call(), tooSlow)
		w.Header().Set("Connection", "close") // the rest may still come
		refuse(w, http.StatusRequestTimeout, tooSlow)
		return false
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, domain.Refuse("malformed", "The body broke off. Send it again."))
		return false
	}
	name, wrong := "", gate(message)
	if wrong == nil {
		name, wrong = headersAgree(r.Header, message)
	}
	if wrong != nil {
		c := who.call()
		c.Action = clip(name, 100)
		d.turnedAway(r.Context(), c, wrong.no)
		send(w, http.StatusBadRequest, wrong.answer())
		return false
	}
	r.Body = body{bytes.NewReader(message), message}
	r.ContentLength = int64(len(message))
	return true
}

var (
	tooLarge = domain.Refuse("too-large", "A message is at most %d bytes. Send less at once.", maxMessage)
	tooSlow  = domain.Refuse("malformed", "The message did not arrive in time. Send it again, in one go.")
)

// unauthorised is 401. The challenge names no metadata: keys are given by a
// person, and a client must not be sent to sign in for one.
func unauthorised(w http.ResponseWriter, no *domain.Refusal) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="assent"`)
	refuse(w, http.StatusUnauthorized, no)
}

// refuse answers with a sentence and a code before the protocol is spoken. The
// status is the error's number too: those of the protocol are taken.
func refuse(w http.ResponseWriter, status int, no *domain.Refusal) {
	send(w, status, errorAnswer(nil, int64(status), no))
}

func send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// callerKey is where forwarded leaves the caller for tokenOf.
type callerKey struct{}

// forwarded is the request as everything further in sees it: with who calls,
// and without anything secret.
func forwarded(r *http.Request, who Caller) *http.Request {
	f := r.WithContext(context.WithValue(r.Context(), callerKey{}, who))
	f.Header = maps.Clone(r.Header)
	f.Header.Del("Cookie")
	f.Header.Del("X-Api-Key")
	f.Header.Set("Authorization", "Bearer verified")
	return f
}

// tokenOf hands the caller to the library in the one shape it takes. Its user
// keeps a session from being used with another key.
func tokenOf(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	who, ok := ctx.Value(callerKey{}).(Caller)
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: who.owner(), Extra: map[string]any{"caller": who}}, nil
}

// keyHolder is the caller that tokenOf handed over.
func keyHolder(req sdk.Request) (Caller, bool) {
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return Caller{}, false
	}
	who, ok := extra.TokenInfo.Extra["caller"].(Caller)
	return who, ok
}
