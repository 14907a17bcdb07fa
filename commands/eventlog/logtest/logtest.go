// Package logtest holds logs to what commands.Log promises: one suite for all
// of them, and the words to write more in.
//
// What a log promises depends on whether it is Atomic: one that is not is held
// to the weaker promise of commands.Log.Append, and its positions may have
// gaps. ASSENT_SOAK=1 makes everything that is run at random or by a crowd ten
// times as long.
package logtest

import (
	"os"
	"testing"
	"time"

	"assent/commands"
)

// Open makes an empty log that takes its time from clock and is closed when
// the test ends.
type Open func(t *testing.T, clock func() time.Time) commands.Log

// Option tells the suite what more a log can do, or can have done to it.
type Option func(*suite)

// Reopening says that what a log holds outlives it: again closes it and opens
// it anew from where it keeps its events.
func Reopening(again func(t *testing.T, log commands.Log, clock func() time.Time) commands.Log) Option {
	return func(s *suite) { s.again = again }
}

// Doubting says that answers of the log can be lost: after lose, the next
// append that has something to write is answered with commands.ErrUnknown,
// unless the log can find out by itself what became of it. All of it may have
// been written, or nothing, or on a log that is not atomic some streams. Appends
// after that one are answered as ever.
func Doubting(lose func(t *testing.T, log commands.Log)) Option {
	return func(s *suite) { s.lose = lose }
}

// Sharing says that several processes can use one log: beside opens it once
// more where it is, with a clock of its own, and closes it when the test ends.
func Sharing(beside func(t *testing.T, log commands.Log, clock func() time.Time) commands.Log) Option {
	return func(s *suite) { s.beside = beside }
}

type suite struct {
	open   Open
	again  func(t *testing.T, log commands.Log, clock func() time.Time) commands.Log
	lose   func(t *testing.T, log commands.Log)
	beside func(t *testing.T, log commands.Log, clock func() time.Time) commands.Log
	atomic bool
}

// Case is one promise, said as a sentence.
type Case struct {
	Name  string
	Holds func(*Log)
}

// Run holds the logs that open makes to every promise.
func Run(t *testing.T, open Open, options ...Option) {
	s := &suite{open: open}
	for _, o := range options {
		o(s)
	}
	s.atomic = open(t, time.Now).Atomic()
	for _, group := range []struct {
		name  string
		holds bool // for this log
		cases []Case
	}{
		{"append", true, appendCases},
		{"atomic", s.atomic, atomicCases},
		{"weak", !s.atomic, weakCases},
		{"expect", true, expectCases},
		{"replay", true, replayCases},
		{"limit", true, limitCases},
		{"time", true, timeCases},
		{"read", true, readCases},
		{"keep", true, keepCases},
		{"follow", true, followCases},
		{"head", true, headCases},
		{"many", true, manyCases},
		{"context", true, contextCases},
		{"close", true, closeCases},
		{"claim", true, claimCases},
		{"history", true, historyCases},
		{"order", s.atomic, orderCases},
		{"model", true, modelCases},
		{"doubt", s.lose != nil, doubtCases},
		{"reopen", s.again != nil, reopenCases},
		{"share", s.beside != nil, shareCases},
	} {
		if !group.holds {
			continue
		}
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.Name, func(t *testing.T) { c.Holds(s.log(t)) })
			}
		})
	}
}

// log opens an empty log for a case.
func (s *suite) log(t *testing.T) *Log {
	t.Helper()
	l := NewLog(t, s.open)
	l.suite = s
	return l
}

// soaking says that there is time for long runs.
func soaking() bool { return os.Getenv("ASSENT_SOAK") == "1" }

// times is how often something is done: n times, or many more when soaking.
func times(n int) int {
	if soaking() {
		return 10 * n
	}
	return n
}
