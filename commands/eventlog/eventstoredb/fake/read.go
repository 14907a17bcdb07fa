package fake

import (
	"context"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Read is every kind of reading: streams, the whole log, subscriptions to it.
func (s *Server) Read(req *streams.ReadReq, call streams.Streams_ReadServer) error {
	s.open.Add(1)
	defer s.open.Add(-1)
	o := req.GetOptions()
	kind := Reads
	if o.GetSubscription() != nil {
		kind = Subscriptions
	}
	fault := s.called(call.Context(), kind)
	switch fault {
	case None, Dateless:
	case Strange:
		return call.Send(&streams.ReadResp{Content: &streams.ReadResp_FirstStreamPosition{}})
	default:
		return s.meet(call.Context(), fault)
	}
	switch {
	case kind == Subscriptions && o.GetAll() != nil:
		return s.subscribe(o, call)
	case kind == Subscriptions:
		return status.Error(codes.Unimplemented, "this server has no subscriptions to single streams")
	case o.GetAll() != nil:
		return s.readAll(o, call, fault)
	}
	return s.readStream(o, call, fault)
}

func (s *Server) readStream(o *streams.ReadReq_Options, call streams.Streams_ReadServer, fault Fault) error {
	name := string(o.GetStream().GetStreamIdentifier().GetStreamName())
	events, found, deleted := s.store.shown(name)
	switch {
	case deleted:
		return told(call.Context(), codes.FailedPrecondition, "Event stream '"+name+"' is deleted.", "stream-deleted", "stream-name", name)
	case !found:
		return call.Send(&streams.ReadResp{Content: &streams.ReadResp_StreamNotFound_{
			StreamNotFound: &streams.ReadResp_StreamNotFound{StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(name)}},
		}})
	}
	back := o.ReadDirection == streams.ReadReq_Options_Backwards
	at := int64(0)
	switch r := o.GetStream().RevisionOption.(type) {
	case *streams.ReadReq_Options_StreamOptions_Revision:
		at = int64(min(r.Revision, math.MaxInt64))
	case *streams.ReadReq_Options_StreamOptions_End:
		at = math.MaxInt64
	}
	return send(call, events, o.GetCount(), back, fault, func(e *event) bool {
		return !back && e.revision >= at || back && e.revision <= at
	})
}

func (s *Server) readAll(o *streams.ReadReq_Options, call streams.Streams_ReadServer, fault Fault) error {
	all, _ := s.store.log(int(s.lag.Load()))
	place, sound := start(all, o.GetAll())
	if !sound {
		return status.Error(codes.InvalidArgument, "Trying to read from an invalid position.")
	}
	wanted, err := filter(o.GetFilter())
	if err != nil {
		return err
	}
	if o.ReadDirection == streams.ReadReq_Options_Backwards {
		return send(call, all[:place], o.GetCount(), true, fault, wanted)
	}
	return send(call, all[place:], o.GetCount(), false, fault, wanted)
}

// send sends at most count of the events that are wanted.
func send(call streams.Streams_ReadServer, events []*event, count uint64, back bool, fault Fault, wanted func(*event) bool) error {
	for i := range events {
		e := events[i]
		if back {
			e = events[len(events)-1-i]
		}
		if !wanted(e) {
			continue
		}
		if count == 0 {
			return nil
		}
		count--
		r := recorded(e)
		if fault == Dateless {
			r.GetEvent().Event.Metadata["created"] = "yesterday"
		}
		if err := call.Send(r); err != nil {
			return err
		}
	}
	return nil
}

func start(all []*event, o *streams.ReadReq_Options_AllOptions) (place int, sound bool) {
	switch p := o.AllOption.(type) {
	case *streams.ReadReq_Options_AllOptions_Position:
		return from(all, p.Position.CommitPosition)
	case *streams.ReadReq_Options_AllOptions_End:
		return len(all), true
	}
	return 0, true
}

// filter says which events a reader wants.
func filter(f *streams.ReadReq_Options_FilterOptions) (func(*event) bool, error) {
	of, e := func(e *event) string { return e.stream }, f.GetStreamIdentifier()
	if e == nil {
		of, e = func(e *event) string { return e.word }, f.GetEventType()
	}
	if e == nil {
		return func(*event) bool { return true }, nil
	}
	if e.Regex != "" {
		re, err := regexp.Compile(e.Regex)
		if err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		return func(e *event) bool { return re.MatchString(of(e)) }, nil
	}
	return func(ev *event) bool {
		for _, p := range e.Prefix {
			if strings.HasPrefix(of(ev), p) {
				return true
			}
		}
		return false
	}, nil
}

// subscribe sends what is there and then what comes. Like the server it tells,
// to who filters, how far it has looked: each window of events, and when there
// is nothing more to send.
func (s *Server) subscribe(o *streams.ReadReq_Options, call streams.Streams_ReadServer) error {
	wanted, err := filter(o.GetFilter())
	if err != nil {
		return err
	}
	confirmed := &streams.ReadResp_SubscriptionConfirmation{SubscriptionId: uuid.NewString()}
	if err := call.Send(&streams.ReadResp{Content: &streams.ReadResp_Confirmation{Confirmation: confirmed}}); err != nil {
		return err
	}
	all, more := s.store.log(int(s.lag.Load()))
	next, sound := start(all, o.GetAll())
	if !sound {
		return status.Error(codes.InvalidArgument, "Trying to read from an invalid position.")
	}
	repeat := s.repeat.Load()
	if p := o.GetAll().GetPosition(); p != nil && !repeat && next < len(all) && all[next].position == p.CommitPosition {
		next++ // from a position is after it
	}
	after := o.GetAll().GetPosition().GetCommitPosition()
	window := int(o.GetFilter().GetMax() * max(o.GetFilter().GetCheckpointIntervalMultiplier(), 1))
	sent, looked, live := int64(0), 0, false
	for {
		for ; next < len(all); next++ {
			e := all[next]
			if wanted(e) && (e.position > after || repeat) {
				if err := call.Send(recorded(e)); err != nil {
					return err
				}
				if sent++; sent == s.kill.Load() {
					return status.Error(codes.Unavailable, "the subscription is gone")
				}
			}
			if looked++; o.GetFilter() != nil && window > 0 && looked%window == 0 {
				if err := call.Send(checkpoint(e)); err != nil {
					return err
				}
			}
		}
		if !live {
			live = true
			if err := s.welcome(o, call, all); err != nil {
				return err
			}
		}
		select {
		case <-more:
		case <-call.Context().Done():
			return status.FromContextError(call.Context().Err()).Err()
		}
		all, more = s.store.log(int(s.lag.Load()))
	}
}

// welcome tells a subscriber that it has seen everything.
func (s *Server) welcome(o *streams.ReadReq_Options, call streams.Streams_ReadServer, all []*event) error {
	if o.GetFilter() != nil && len(all) > 0 {
		if err := call.Send(checkpoint(all[len(all)-1])); err != nil {
			return err
		}
	}
	if !s.caughtUp {
		return nil
	}
	return call.Send(&streams.ReadResp{Content: &streams.ReadResp_CaughtUp_{CaughtUp: new(streams.ReadResp_CaughtUp)}})
}

func checkpoint(e *event) *streams.ReadResp {
	return &streams.ReadResp{Content: &streams.ReadResp_Checkpoint_{
		Checkpoint: &streams.ReadResp_Checkpoint{CommitPosition: e.position, PreparePosition: e.position},
	}}
}

func recorded(e *event) *streams.ReadResp {
	return &streams.ReadResp{Content: &streams.ReadResp_Event{Event: &streams.ReadResp_ReadEvent{
		Event: &streams.ReadResp_ReadEvent_RecordedEvent{
			Id:               toWire(e.id),
			StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(e.stream)},
			StreamRevision:   uint64(e.revision),
			CommitPosition:   e.position,
			PreparePosition:  e.position,
			Metadata: map[string]string{
				"type": e.word, "content-type": e.contentType,
				"created": strconv.FormatInt(e.created.UnixNano()/100, 10),
			},
			CustomMetadata: e.meta,
			Data:           e.data,
		},
		Position: &streams.ReadResp_ReadEvent_CommitPosition{CommitPosition: e.position},
	}}}
}

// gossiping tells apart the two services' methods of the same name.
type gossiping struct {
	gossip.UnimplementedGossipServer
	s *Server
}

// Read says which nodes there are and who leads.
func (g gossiping) Read(ctx context.Context, _ *shared.Empty) (*gossip.ClusterInfo, error) {
	if fault := g.s.called(ctx, Gossips); fault != None {
		return nil, g.s.meet(ctx, fault)
	}
	if g.s.leader == nil {
		return &gossip.ClusterInfo{Members: []*gossip.MemberInfo{g.s.member(gossip.MemberInfo_Leader)}}, nil
	}
	return &gossip.ClusterInfo{Members: []*gossip.MemberInfo{
		g.s.member(gossip.MemberInfo_Follower), g.s.leader.member(gossip.MemberInfo_Leader),
	}}, nil
}

func (s *Server) member(state gossip.MemberInfo_VNodeState) *gossip.MemberInfo {
	host, port := split(s.address)
	return &gossip.MemberInfo{
		InstanceId: toWire(uuid.New()), State: state, IsAlive: true,
		HttpEndPoint: &gossip.EndPoint{Address: host, Port: port},
	}
}

// GetSupportedMethods says the version.
func (s *Server) GetSupportedMethods(ctx context.Context, _ *shared.Empty) (*serverfeatures.SupportedMethods, error) {
	if fault := s.called(ctx, Features); fault != None {
		return nil, s.meet(ctx, fault)
	}
	return &serverfeatures.SupportedMethods{EventStoreServerVersion: s.version}, nil
}
