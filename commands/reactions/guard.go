package reactions

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"assent/domain/webhook"
)

// errPrivate says that a name stands for an address that is not called.
var errPrivate = errors.New("the address is not one that everybody can reach")

// caller calls addresses that other people chose. It looks at the address itself
// at the moment that it is dialled, so a name that stands for another one by then
// leads nowhere. It follows no redirects, and asks no proxy, which would look a
// name up again. With loopback this machine may be called too.
func caller(loopback bool, within time.Duration) *http.Client {
	dialer := &net.Dialer{Timeout: within, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return errPrivate
		}
		if !webhook.Public(at.Addr()) && !(loopback && at.Addr().Unmap().IsLoopback()) {
			return errPrivate
		}
		return nil
	}}
	return &http.Client{
		Timeout:       within,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    within,
			ResponseHeaderTimeout:  within,
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConns:           32,
			IdleConnTimeout:        30 * time.Second,
			DisableCompression:     true, // an answer is not read, and must not unfold
		},
	}
}
