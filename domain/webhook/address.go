package webhook

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"assent/domain"
	"assent/domain/place"
)

// maxURL is how long an address may be, in bytes.
const maxURL = 2048

// fitsURL says what is wrong with an address. A name may still stand for a
// private address: whoever calls it looks again at what it stands for then.
func fitsURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Hostname() == "" || len(text) > maxURL || !ascii(u.Host) {
		return domain.Refuse("invalid", "%q is not an address that can be called. Write it like https://example.org/hooks/assent.", place.Clip(text))
	}
	if port, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || port < 1 || port > 65535) {
		return domain.Refuse("invalid", "%q is no port. Leave it out, or write a number from 1 to 65535.", place.Clip(u.Port()))
	}
	if u.User != nil {
		return domain.Refuse("invalid", "Leave name and password out of the address: it is kept where many may read it. What is sent is signed instead.")
	}
	if u.Fragment != "" || strings.HasSuffix(text, "#") {
		return domain.Refuse("invalid", "Leave out what comes after the #: it is never sent.")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !here(u.Hostname())) {
		return domain.Refuse("invalid", "The address must begin with https://, so that nobody on the way reads or changes what is sent.")
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && !Public(addr) && !addr.Unmap().IsLoopback() {
		return domain.Refuse("invalid", "%s is an address inside a network. Only what everybody can reach is called.", place.Clip(u.Hostname()))
	}
	return nil
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// here says that a host is this machine, by its name. Whether it may be called
// is for whoever runs the server to say.
func here(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// Public says that an address is one that everybody can reach: not this machine,
// not a network of somebody's own, and none of the ways to write one of those.
func Public(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.Zone() != "" {
		return false
	}
	if addr.Is6() && !everybody.Contains(addr) {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// everybody is all of IPv6 that is given out for the world to reach.
var everybody = netip.MustParsePrefix("2000::/3")

// special are networks that have another purpose (IANA's special registries).
// Those of IPv6 also hold addresses of IPv4, private ones included.
var special = prefixes(`
	0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24
	192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
	2001::/23 2001:db8::/32 2002::/16 3fff::/20`)

func prefixes(list string) (ps []netip.Prefix) {
	for _, p := range strings.Fields(list) {
		ps = append(ps, netip.MustParsePrefix(p))
	}
	return ps
}
