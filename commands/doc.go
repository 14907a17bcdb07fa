// Package commands is the one road and the one desk.
//
// Every change, from every door, by people and agents alike, goes down
// Road.Do: identify, find, read, look, rehearse, ask, settle. A call ends as
// done, idle, waiting, refused or rehearsed, and when the log did not say
// whether it took an append, as unknown: then the same call under the same
// command id finds out.
//
// People decide at the Desk: they approve, decline and take back. What they
// approve runs down the same road again.
//
// The record is the change: who, for whom, through what, under which verdict
// rides in the envelope of the events themselves. What changes nothing —
// refusals, calls that found everything already so, reads — leaves a line of
// conduct.
package commands
