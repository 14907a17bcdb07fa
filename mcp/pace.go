package mcp

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"assent/domain"
)

// Pace is how fast each key may ask, here and at other doors that take keys. It
// uses up one call of a key, or says how long to wait for the next one.
type Pace interface {
	Wait(key string) time.Duration
}

var tooFast = domain.Refuse("slow-down", "This key asks faster than it may. Wait as long as the answer says, then go on.")

// paced lets a request of a key go on, or has it counted, not written down one by
// one, and says when to come again.
func (d *Door) paced(w http.ResponseWriter, r *http.Request, who Caller) bool {
	if d.pace == nil {
		return true
	}
	wait := d.pace.Wait(who.Workspace + "/" + who.Via.Key)
	if wait <= 0 {
		return true
	}
	d.turnedAway(r.Context(), who.call(), tooFast)
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	refuse(w, http.StatusTooManyRequests, tooFast)
	return false
}
