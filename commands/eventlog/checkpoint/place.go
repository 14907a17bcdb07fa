package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// postFor is how long a webhook may take to answer.
const postFor = 10 * time.Second

// Place is where signed heads are sent.
type Place struct {
	text string   // a file's path
	hook *url.URL // or a webhook
}

// PlaceAt reads a place: an http or https URL, or the path of a file.
func PlaceAt(text string) (Place, error) {
	scheme, _, isURL := strings.Cut(text, "://")
	switch {
	case text == "":
		return Place{}, errors.New("heads need the path of a file or an http(s) URL")
	case !isURL:
		return Place{text: text}, nil
	case scheme != "http" && scheme != "https":
		return Place{}, errors.New("heads are sent to a file or to a URL that begins with http:// or https://, in small letters") // it may hold a secret
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return Place{}, errors.New("the URL that heads are sent to cannot be read") // it may hold a secret
	}
	return Place{hook: u}, nil
}

// String names the place, without what of a URL may be secret.
func (p Place) String() string {
	if p.hook != nil {
		return p.hook.Scheme + "://" + p.hook.Host
	}
	return p.text
}

// straight follows no redirect: what was posted would not be posted again, and
// whoever answers elsewhere has not taken it.
var straight = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// put sends a signed head there. A file has it on the disk then; a webhook has
// said that it took it.
func (p Place) put(ctx context.Context, signed []byte) error {
	if p.hook == nil {
		return Append(p.text, signed)
	}
	ctx, cancel := context.WithTimeout(ctx, postFor)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.hook.String(), bytes.NewReader(signed))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	res, err := straight.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err // without the URL
	}
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.CopyN(io.Discard, res.Body, maxNote) // so that the connection can be used again
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %s", res.Status)
	}
	return nil
}

// newest is the last head of a key in a file; a zero Head where there is none,
// and for a webhook.
func (p Place) newest(key *Key) (Head, error) {
	if p.hook != nil {
		return Head{}, nil
	}
	f, err := os.Open(p.text)
	if errors.Is(err, fs.ErrNotExist) {
		return Head{}, nil
	}
	if err != nil {
		return Head{}, err
	}
	h, err := Newest(List(f), key)
	return h, errors.Join(err, f.Close())
}

// ListFile gives the signed heads in a file as List does. The error of its last
// pair may be what kept the file from being read.
func ListFile(path string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = f.Close() }() // only read
		List(f)(yield)
	}
}
