// Package reactions tells others outside of what happens here. A reactor is no
// projection: what it does cannot be done again to see whether it comes out the
// same. So it has a checkpoint of its own, begins where it is said to begin, and
// is never rebuilt.
//
// A LogSubscriber hands out one event of the log, waits until it was dealt with,
// writes down that it was, and hands out the next. Several of them, each with its
// own streams, work side by side, so what happens to one thing is told in order.
// Watermill's router stands behind them: it tries again, and hands on what cannot
// be delivered to be noted in the log, where people see it and can have it sent
// again.
//
// A webhook is told what it asked for, in its workspace. A broker, NATS or Kafka,
// is told everything; what it does not take is held, and a warning in the server's
// own log says so.
//
// What is told is told at least once, under the id of its event: whoever is told
// twice can tell. Of several processes on one log, one is at work.
package reactions
