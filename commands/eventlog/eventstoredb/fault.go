package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"assent/commands"
)

// meaning is what an error of a call says about what was asked for.
type meaning int

const (
	fine    meaning = iota
	unknown         // it may have been done
	absent          // nothing was sent
	busy            // the server would not just now
	cut             // the server answered before it had everything; the client lost the answer
	astray          // the wrong node; the client goes to the right one by itself
	denied          // the user may not
	refused         // the server never will
	moved           // the stream is at another version
	deleted         // the stream is deleted for ever
	ended           // the caller no longer waits
)

// meant says what an error means. What is not known for certain is unknown.
func meant(err error) meaning {
	if err == nil {
		return fine
	}
	if a, ok := errors.AsType[*absentError](err); ok {
		if m := meant(a.why); m == denied {
			return denied
		}
		return absent
	}
	if told, ok := errors.AsType[*esdb.Error](err); ok {
		switch told.Code() {
		case esdb.ErrorCodeWrongExpectedVersion:
			return moved
		case esdb.ErrorCodeStreamDeleted:
			return deleted
		case esdb.ErrorCodeNotLeader:
			return astray
		case esdb.ErrorCodeConnectionClosed:
			return absent
		}
	}
	if errors.Is(err, errSilent) || errors.Is(err, errLost) || errors.Is(err, errPanic) {
		return unknown
	}
	// The server writes when it has got all of an append, and the client still
	// had something to send.
	if errors.Is(err, io.EOF) && strings.HasPrefix(err.Error(), "could not send append request") {
		return cut
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return ended
	}
	s, ok := status.FromError(plain(err))
	if !ok {
		return unknown
	}
	switch s.Code() {
	case codes.PermissionDenied, codes.Unauthenticated:
		return denied
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented:
		return refused
	case codes.Unavailable:
		return silenced(s.Message())
	}
	return unknown
}

// silenced tells apart what gRPC and the server say with one code: words of
// the server, a connection that was never there, and one that broke.
func silenced(text string) meaning {
	for _, words := range []string{"Server Is Not Ready", "Server Is Too Busy"} {
		if strings.Contains(text, words) {
			return busy
		}
	}
	for _, words := range []string{
		`connection error: desc = "transport: Error while dialing`,
		`connection error: desc = "transport: authentication handshake failed`,
	} {
		if strings.HasPrefix(text, words) {
			return absent
		}
	}
	return unknown
}

// lost says that a client is no good any more, or may not be.
func lost(err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, errSilent), errors.Is(err, errLost):
		return true
	}
	if told, ok := errors.AsType[*esdb.Error](err); ok && told.Code() == esdb.ErrorCodeConnectionClosed {
		return true
	}
	return status.Code(plain(err)) == codes.Unavailable
}

// plain is the error that gRPC gave, under what the client wrapped it in.
func plain(err error) error {
	if told, ok := errors.AsType[*esdb.Error](err); ok && told.Err() != nil {
		return told.Err()
	}
	return err
}

// unwritten is the answer to an append, or a read, that the server did not
// take; asking again is safe.
func unwritten(err error) error {
	switch meant(err) {
	case busy:
		return fmt.Errorf("%w: %w", commands.ErrBusy, err)
	case denied:
		return fmt.Errorf("%w: %w: %w", commands.ErrUnavailable, errDenied, err)
	case ended:
		return err
	}
	if errors.Is(err, commands.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", commands.ErrUnavailable, err)
}

var errDenied = errors.New("the URL's user may not do this: it has to write the log's streams and to read $all, which by itself only $admins may")
