package folder

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// numericDate is a date that starts with its year, with or without a time,
// and that with or without a zone.
var numericDate = regexp.MustCompile(`(?i)^(\d{4})(?:-(\d{1,2})-|/(\d{1,2})/|\.(\d{1,2})\.)(\d{1,2})` +
	`(?:(?:T|\s+)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?)?$`)

// wordy are dates with the month in words, which cannot be misread. Dates of
// digits with the year last can, so none are here.
var wordy = []struct {
	layout string
	timed  bool
}{
	{"January 2, 2006", false}, {"Jan 2, 2006", false}, {"2 January 2006", false}, {"2 Jan 2006", false},
	{"January 2 2006", false}, {"Jan 2 2006", false}, {"Mon Jan 2 2006", false},
	{"Mon, 2 Jan 2006", false}, {"Monday, January 2, 2006", false}, {"Monday, 2 January 2006", false}, {"20060102", false},
	{"January 2, 2006 15:04", true}, {"January 2, 2006 3:04 PM", true}, {"2 January 2006 15:04", true},
	{"Mon, 2 Jan 2006 15:04:05 -0700", true}, {"Mon, 2 Jan 2006 15:04:05 GMT", true},
	{"Mon, 2 Jan 2006 15:04:05 UTC", true}, {time.ANSIC, true},
}

// readDate normalises a date. One without a time becomes YYYY-MM-DD; one with
// a time becomes RFC 3339 with the offset it names, or Z when it names none.
func readDate(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if m := numericDate.FindStringSubmatch(s); m != nil {
		return fromNumbers(m)
	}
	if len(s) > 64 {
		return "", false
	}
	for _, w := range wordy {
		t, err := time.Parse(w.layout, s)
		switch {
		case err != nil:
		case w.timed:
			return t.Format(time.RFC3339), true
		default:
			return t.Format(time.DateOnly), true
		}
	}
	return "", false
}

func fromNumbers(m []string) (string, bool) {
	year, month, day := m[1], m[2]+m[3]+m[4], m[5]
	date, err := time.Parse("2006-1-2", year+"-"+month+"-"+day)
	if err != nil {
		return "", false
	}
	if m[6] == "" {
		return date.Format(time.DateOnly), true
	}
	hour, minute, second := atoi(m[6]), atoi(m[7]), atoi(m[8])
	offset, ok := readOffset(m[10])
	if hour > 23 || minute > 59 || second > 59 || !ok {
		return "", false
	}
	nanos := atoi((m[9] + "000000000")[:9])
	zone := time.UTC
	if offset != 0 {
		zone = time.FixedZone("", offset)
	}
	at := time.Date(date.Year(), date.Month(), date.Day(), hour, minute, second, nanos, zone)
	return at.Format(time.RFC3339Nano), true
}

// readOffset gives the seconds east of UTC of Z, UTC, GMT, -4, +0530, +05:30.
func readOffset(s string) (int, bool) {
	if s == "" || s[0] != '+' && s[0] != '-' {
		return 0, true
	}
	digits := strings.ReplaceAll(s[1:], ":", "")
	hours, minutes := digits, ""
	if len(digits) > 2 {
		hours, minutes = digits[:len(digits)-2], digits[len(digits)-2:]
	}
	h, m := atoi(hours), atoi(minutes)
	if h > 23 || m > 59 {
		return 0, false
	}
	seconds := h*3600 + m*60
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// atoi reads digits that a pattern has already matched; none are 0.
func atoi(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
