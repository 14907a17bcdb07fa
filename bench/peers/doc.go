// Package peers lets the log and other Go stores do the same work, one after the
// other in each round: 64 writers, each with streams of its own, who say the
// version they expect, and no answer before the disk has it.
//
// Of the stores with expected versions that the module proxy serves and that run
// without a server elsewhere, the durable one is NATS JetStream, which refuses a
// message whose subject has moved on. looplab/eventhorizon is beside it for scale:
// of its back ends only the one in memory runs alone, and it keeps nothing.
//
// It is a module of its own, so that what it compares with is no dependency of
// the product.
package peers
