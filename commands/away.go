package commands

import (
	"errors"
	"io"
	"net"
)

// Away says that an error is a database's that does not answer just now: it is
// starting, stopping, out of connections, or its connection was lost. Asked
// again a moment later it may. Of reads this is all there is to know; an append
// has words of its own (ErrUnavailable, ErrUnknown).
func Away(err error) bool {
	if told, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok && len(told.SQLState()) == 5 {
		switch told.SQLState()[:2] {
		case "08", "53", "57": // connections, resources, an operator's doing
			return true
		}
		return false
	}
	if told, ok := errors.AsType[interface {
		error
		SafeToRetry() bool
	}](err); ok && told.SafeToRetry() {
		return true
	}
	_, lost := errors.AsType[net.Error](err)
	return lost || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
