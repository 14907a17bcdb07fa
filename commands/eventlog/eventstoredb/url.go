package eventstoredb

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// knobs are the settings that the client reads from a URL. It only logs those
// that it does not know, so that a misspelt tls=false would go unnoticed.
var knobs = []string{
	"tls", "tlscafile", "tlsverifycert", "usercertfile", "userkeyfile", "nodepreference",
	"discoveryinterval", "gossiptimeout", "maxdiscoverattempts",
	"keepaliveinterval", "keepalivetimeout", "defaultdeadline",
}

// configure reads a URL. Its errors never hold what may be a password.
func configure(text string, answer time.Duration) (conf *esdb.Configuration, err error) {
	said, err := settingsIn(text)
	if err != nil {
		return nil, err
	}
	if !ports(text) {
		return nil, errors.New("the URL names a port that there is not: a port is a number from 1 to 65535")
	}
	conf, err = esdb.ParseConnectionString(text)
	if err != nil {
		return nil, unreadable(text, err)
	}
	conf.Logger = esdb.NoopLogging()
	// The client's own patience: one look for a node, because the guard asks
	// again by itself and a client that gives up is dead for good.
	if !said["maxdiscoverattempts"] {
		conf.MaxDiscoverAttempts = 1
	}
	if !said["discoveryinterval"] {
		conf.DiscoveryInterval = 10 // milliseconds, also slept after the last attempt
	}
	if !said["gossiptimeout"] {
		conf.GossipTimeout = max(int(answer/time.Second), 1) // seconds
	}
	if !said["defaultdeadline"] {
		conf.DefaultDeadline = &answer
	}
	return conf, nil
}

// ports says whether the ports in a URL can be ones. The client takes the last
// 16 bits of a number, which would lead to another server.
func ports(text string) bool {
	_, rest, _ := strings.Cut(text, "://")
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest[strings.LastIndex(rest, "@")+1:], "/")
	for _, host := range strings.Split(rest, ",") {
		i := strings.LastIndex(host, ":")
		if i < 0 || strings.HasSuffix(host, "]") {
			continue
		}
		n, err := strconv.Atoi(host[i+1:])
		if err == nil && (n < 1 || n > 65535) || errors.Is(err, strconv.ErrRange) { // what is no number the client refuses itself
			return false
		}
	}
	return true
}

// settingsIn is which settings a URL has, and the error of one that is none.
func settingsIn(text string) (map[string]bool, error) {
	if !strings.HasPrefix(text, "esdb://") && !strings.HasPrefix(text, "esdb+discover://") {
		return nil, errors.New("the URL must begin with esdb:// or esdb+discover://")
	}
	_, query, _ := strings.Cut(text, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, unreadable(text, err)
	}
	said := make(map[string]bool)
	for key := range values {
		known := false
		for _, k := range knobs {
			known = known || strings.EqualFold(k, key)
		}
		if !known && strings.Contains(key, "@") { // a password with a question mark in it
			return nil, unreadable(text, nil)
		}
		if !known {
			return nil, fmt.Errorf("the URL has the setting %q, which there is not; there are %s", key, strings.Join(knobs, ", "))
		}
		said[strings.ToLower(key)] = true
	}
	return said, nil
}

// unreadable is the error of a URL that cannot be read. What is wrong in it is
// told only if it holds no password: parsers quote what they stumble over.
func unreadable(text string, err error) error {
	const form = "the URL cannot be read; it looks like esdb://user:password@host:2113?tls=true, with a password's odd characters written as %40 and the like"
	if err == nil || strings.Contains(text, "@") {
		return errors.New(form)
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	return fmt.Errorf("%s: %w", form, err)
}

// place is where a configuration leads, for people.
func place(conf *esdb.Configuration) string {
	if conf.Address != "" {
		return conf.Address
	}
	seeds := make([]string, len(conf.GossipSeeds))
	for i, s := range conf.GossipSeeds {
		seeds[i] = s.String()
	}
	return strings.Join(seeds, ",")
}
