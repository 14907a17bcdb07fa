package httpapi

import (
	"maps"
	"strconv"
	"sync"
	"time"
)

// once remembers which forms were sent, so that a reload of the page that
// answered one does nothing again.
type once struct {
	mu   sync.Mutex
	sent map[string]time.Time
}

// onceLife is how long a form is remembered: nobody reloads an older page.
const onceLife = time.Hour

// mark is the value a form carries.
func mark(now time.Time) string { return strconv.FormatInt(now.UnixNano(), 36) }

// use says that a form with this mark was not sent before. One without a mark
// is a program's, which does not reload pages.
func (o *once) use(mark string, now time.Time) bool {
	if mark == "" {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.sent, func(_ string, at time.Time) bool { return now.Sub(at) > onceLife })
	if _, sent := o.sent[mark]; sent {
		return false
	}
	if o.sent == nil {
		o.sent = map[string]time.Time{}
	}
	o.sent[mark] = now
	return true
}
