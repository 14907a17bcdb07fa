package fake

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const jsonType = "application/json"

// Append takes the events of one stream.
func (s *Server) Append(call streams.Streams_AppendServer) error {
	ctx := call.Context()
	fault := s.called(ctx, Appends)
	after, writes := fault.committed()
	if fault != None && !writes {
		return s.meet(ctx, fault)
	}
	options, messages, err := s.received(call)
	if err != nil {
		return err
	}
	name := string(options.GetStreamIdentifier().GetStreamName())
	expected, err := expectation(options)
	if err != nil {
		return err
	}
	a := s.store.append(name, expected, messages)
	switch {
	case after != None:
		return s.meet(ctx, after)
	case a.deleted:
		return told(ctx, codes.FailedPrecondition, "Event stream '"+name+"' is deleted.", "stream-deleted", "stream-name", name)
	case a.wrong:
		return call.SendAndClose(wrongVersion(options, a.current))
	}
	return call.SendAndClose(success(a))
}

// received reads the options and then the events, until there are too many.
func (s *Server) received(call streams.Streams_AppendServer) (*streams.AppendReq_Options, []message, error) {
	first, err := call.Recv()
	if err != nil {
		return nil, nil, err
	}
	options := first.GetOptions()
	if options == nil {
		return nil, nil, status.Error(codes.InvalidArgument, "the options come first")
	}
	var messages []message
	total := 0
	for {
		req, err := call.Recv()
		if errors.Is(err, io.EOF) {
			return options, messages, nil
		}
		if err != nil {
			return nil, nil, err
		}
		p := req.GetProposedMessage()
		if p == nil {
			return nil, nil, status.Error(codes.InvalidArgument, "an event was expected")
		}
		for _, key := range []string{"type", "content-type"} {
			if _, there := p.Metadata[key]; !there {
				return nil, nil, told(call.Context(), codes.InvalidArgument, "Required Metadata Property '"+key+"' is missing", "missing-required-metadata-property")
			}
		}
		m := message{
			id: fromWire(p.Id), word: p.Metadata["type"], contentType: p.Metadata["content-type"],
			data: p.Data, meta: p.CustomMetadata,
		}
		if total += m.size(); total > s.maximum {
			return nil, nil, s.tooLarge(call.Context())
		}
		messages = append(messages, m)
	}
}

func (s *Server) tooLarge(ctx context.Context) error {
	limit := strconv.Itoa(s.maximum)
	return told(ctx, codes.InvalidArgument, "Maximum Append Size of "+limit+" Exceeded.", "maximum-append-size-exceeded", "maximum-append-size", limit)
}

func expectation(o *streams.AppendReq_Options) (int64, error) {
	switch e := o.ExpectedStreamRevision.(type) {
	case *streams.AppendReq_Options_Revision:
		return int64(e.Revision), nil
	case *streams.AppendReq_Options_NoStream:
		return noStream, nil
	case *streams.AppendReq_Options_Any:
		return anything, nil
	case *streams.AppendReq_Options_StreamExists:
		return streamExists, nil
	}
	return 0, status.Error(codes.InvalidArgument, "no expectation")
}

func success(a answer) *streams.AppendResp {
	ok := new(streams.AppendResp_Success)
	if a.revision < 0 {
		ok.CurrentRevisionOption = &streams.AppendResp_Success_NoStream{NoStream: &shared.Empty{}}
	} else {
		ok.CurrentRevisionOption = &streams.AppendResp_Success_CurrentRevision{CurrentRevision: uint64(a.revision)}
	}
	if a.position == 0 {
		ok.PositionOption = &streams.AppendResp_Success_NoPosition{NoPosition: &shared.Empty{}}
	} else {
		ok.PositionOption = &streams.AppendResp_Success_Position{
			Position: &streams.AppendResp_Position{CommitPosition: a.position, PreparePosition: a.position},
		}
	}
	return &streams.AppendResp{Result: &streams.AppendResp_Success_{Success: ok}}
}

func wrongVersion(o *streams.AppendReq_Options, current int64) *streams.AppendResp {
	wrong := new(streams.AppendResp_WrongExpectedVersion)
	if current < 0 {
		wrong.CurrentRevisionOption = &streams.AppendResp_WrongExpectedVersion_CurrentNoStream{CurrentNoStream: &shared.Empty{}}
	} else {
		wrong.CurrentRevisionOption = &streams.AppendResp_WrongExpectedVersion_CurrentRevision{CurrentRevision: uint64(current)}
	}
	switch e := o.ExpectedStreamRevision.(type) {
	case *streams.AppendReq_Options_Revision:
		wrong.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedRevision{ExpectedRevision: e.Revision}
	case *streams.AppendReq_Options_NoStream:
		wrong.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedNoStream{ExpectedNoStream: &shared.Empty{}}
	case *streams.AppendReq_Options_StreamExists:
		wrong.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedStreamExists{ExpectedStreamExists: &shared.Empty{}}
	}
	return &streams.AppendResp{Result: &streams.AppendResp_WrongExpectedVersion_{WrongExpectedVersion: wrong}}
}

// Delete makes a stream disappear until somebody writes to it again.
func (s *Server) Delete(ctx context.Context, req *streams.DeleteReq) (*streams.DeleteResp, error) {
	expected := anything
	switch e := req.Options.GetExpectedStreamRevision().(type) {
	case *streams.DeleteReq_Options_Revision:
		expected = int64(e.Revision)
	case *streams.DeleteReq_Options_NoStream:
		expected = noStream
	}
	a, err := s.remove(ctx, string(req.Options.StreamIdentifier.GetStreamName()), expected, false)
	if err != nil {
		return nil, err
	}
	return &streams.DeleteResp{PositionOption: &streams.DeleteResp_Position_{
		Position: &streams.DeleteResp_Position{CommitPosition: a.position, PreparePosition: a.position},
	}}, nil
}

// Tombstone makes a stream disappear for ever.
func (s *Server) Tombstone(ctx context.Context, req *streams.TombstoneReq) (*streams.TombstoneResp, error) {
	expected := anything
	switch e := req.Options.GetExpectedStreamRevision().(type) {
	case *streams.TombstoneReq_Options_Revision:
		expected = int64(e.Revision)
	case *streams.TombstoneReq_Options_NoStream:
		expected = noStream
	}
	a, err := s.remove(ctx, string(req.Options.StreamIdentifier.GetStreamName()), expected, true)
	if err != nil {
		return nil, err
	}
	return &streams.TombstoneResp{PositionOption: &streams.TombstoneResp_Position_{
		Position: &streams.TombstoneResp_Position{CommitPosition: a.position, PreparePosition: a.position},
	}}, nil
}

func (s *Server) remove(ctx context.Context, name string, expected int64, hard bool) (answer, error) {
	a := s.store.delete(name, expected, hard)
	switch {
	case a.deleted:
		return a, told(ctx, codes.FailedPrecondition, "Event stream '"+name+"' is deleted.", "stream-deleted", "stream-name", name)
	case a.wrong:
		return a, told(ctx, codes.FailedPrecondition, "delete failed due to WrongExpectedVersion", "wrong-expected-version",
			"stream-name", name, "expected-version", strconv.FormatInt(expected, 10), "actual-version", strconv.FormatInt(a.current, 10))
	}
	return a, nil
}

func fromWire(id *shared.UUID) (u uuid.UUID) {
	if s := id.GetStructured(); s != nil {
		for i := range 8 {
			u[i] = byte(s.MostSignificantBits >> (56 - 8*i))
			u[8+i] = byte(s.LeastSignificantBits >> (56 - 8*i))
		}
		return u
	}
	u, _ = uuid.Parse(id.GetString_()) // what is no id is the zero id
	return u
}

func toWire(u uuid.UUID) *shared.UUID {
	s := new(shared.UUID_Structured)
	for i := range 8 {
		s.MostSignificantBits = s.MostSignificantBits<<8 | int64(u[i])
		s.LeastSignificantBits = s.LeastSignificantBits<<8 | int64(u[8+i])
	}
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: s}}
}

func split(address string) (host string, port uint32) {
	host, text, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(text) // it is a listener's address
	return host, uint32(n)
}
