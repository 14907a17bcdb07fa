// Package eventstoredb is the log on an EventStoreDB server or cluster, which
// any number of processes may share.
//
// # What it promises, and what not
//
// Everything that commands.Log says of a log that is not Atomic. A stream's
// events of one append are there at once or not at all; streams are written one
// after another. Expectations are always explicit versions and the ids of
// events the same each time, so the server itself tells an append that is made
// again from another one; what it does not compare, envelopes and data, is
// compared here. A position is the commit position in $all: rising, with gaps,
// and every event of an append has its own.
//
// Log time never runs backwards within one process, and never behind an event
// that this process has read or heard of. Two processes whose clocks differ can
// give events that were written within the same moment times in another order
// than their positions; so can an append whose answer is lost and that the
// server takes only after others.
//
// The head is as far as this process has heard: all it wrote or read, and what
// others wrote up to a moment ago. Nothing at or below a head changes, as long
// as nobody deletes on the server.
//
// The server keeps no hashes. The chain is computed by every process that has
// the log open, following it in order from the beginning or from its bookmark;
// Verify says what that proves.
//
// # The server
//
// EventStoreDB 23.10 or later, or KurrentDB 25 and 26, which speak the same
// protocol: a release, for the client cannot connect to a version that is more
// than three numbers. Its MaxAppendSize must be 1 MiB or more, as it is unless
// set. The URL's user has to write the log's streams and to read $all, which
// only $admins may unless the ACL of $all is changed.
//
// The log's streams are those whose names begin with its prefix, "assent."
// unless said; anything else may live beside them, but reads of the whole log
// get to see all of it over the wire. Nobody else may write to them; nobody may
// give them $maxAge, $maxCount or $tb, or delete them: such streams are refused,
// at Open and for as long as the log is open. There is no setting of a whole
// server that limits streams, so none is looked for. Better still, let an ACL
// deny $d to everybody. This package never deletes and never writes metadata.
//
// In a cluster the client looks for the leader itself (esdb+discover://, or
// several hosts). What a node that has fallen behind would tell of the whole log
// is not believed; of a single stream it cannot be noticed, and then an append
// conflicts.
//
// # The client
//
// It is EventStore-Client-Go v4, which hangs, dies and panics where a server is
// away; the guard in this package keeps the log out of that, and the tests named
// after ten traps show both. One of them has no guard: the client ends the
// process if it is sent an event whose date it cannot read, which no server
// does.
//
// # What was tested, and against what
//
// All tests run against the fake server in the folder fake, which is written
// after the server's published source and speaks the client's own protocol; its
// speed says something about the client and nothing about a server. No real
// server was ever there when this was written. What only a real one can show:
// TLS and users, clusters and their elections, scavenges, how it refuses
// positions between two events, and its speed.
//
// To run the same suite on one that is only there for this:
//
//	docker run --rm -p 2113:2113 eventstore/eventstore:24.10 \
//	    --insecure --run-projections=None --mem-db
//	ASSENT_TEST_ESDB='esdb://localhost:2113?tls=false' \
//	    go test -run ARealServer ./commands/eventlog/eventstoredb
package eventstoredb
