package reactions

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"assent/domain"
)

// key is the n-th secret of a webhook. It is derived from the server's own and
// kept nowhere: neither log nor copies of it hold it, and every process that
// shares the server's secret knows it.
func key(server []byte, hook domain.Stream, n int) ([]byte, error) {
	info := fmt.Sprintf("assent webhook %d:%s %d:%s %d", len(hook.Workspace), hook.Workspace, len(hook.ID), hook.ID, n)
	return hkdf.Key(sha256.New, server, nil, info, 32)
}

// spelt is a secret as receivers are given it.
func spelt(key []byte) string { return "whsec_" + base64.StdEncoding.EncodeToString(key) }

// signature is the value of webhook-signature as Standard Webhooks has it: one
// for each key, so that a receiver may change its secret while messages come.
func signature(keys [][]byte, id string, at time.Time, body []byte) string {
	var all []string
	for _, k := range keys {
		mac := hmac.New(sha256.New, k)
		fmt.Fprintf(mac, "%s.%s.%s", id, seconds(at), body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}

func seconds(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
