package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"assent/commands"
	"assent/domain"
)

// What OCSF calls this: class API Activity (6003) of Application Activity (6),
// https://schema.ocsf.io/1.6.0/classes/api_activity. It requires an actor, an
// operation and a source; where calls came from is not kept here, so the
// source is the program that called.
const (
	ocsfVersion  = "1.6.0"
	ocsfCategory = 6
	ocsfClass    = 6003
)

// ocsfForm is one OCSF event a line.
type ocsfForm struct{ of Exported }

func (ocsfForm) begin(io.Writer) error { return nil }
func (ocsfForm) end(io.Writer) error   { return nil }

type ocsfEvent struct {
	Activity     int            `json:"activity_id"`
	ActivityName string         `json:"activity_name"`
	Category     int            `json:"category_uid"`
	CategoryName string         `json:"category_name"`
	Class        int            `json:"class_uid"`
	ClassName    string         `json:"class_name"`
	Type         int            `json:"type_uid"`
	TypeName     string         `json:"type_name"`
	Severity     int            `json:"severity_id"`
	SeverityName string         `json:"severity"`
	Time         int64          `json:"time"` // milliseconds
	Count        int            `json:"count,omitempty"`
	Status       int            `json:"status_id"`
	StatusName   string         `json:"status"`
	StatusCode   string         `json:"status_code,omitempty"`
	StatusDetail string         `json:"status_detail,omitempty"`
	Message      string         `json:"message"`
	Metadata     ocsfMetadata   `json:"metadata"`
	Actor        ocsfActor      `json:"actor"`
	API          ocsfAPI        `json:"api"`
	From         ocsfEndpoint   `json:"src_endpoint"`
	Resources    []ocsfResource `json:"resources,omitempty"`
	Unmapped     ocsfUnmapped   `json:"unmapped"`
}

type ocsfMetadata struct {
	Version  string      `json:"version"`
	Product  ocsfProduct `json:"product"`
	UID      string      `json:"uid"`
	Code     string      `json:"event_code"`
	Log      string      `json:"log_name"`
	Provider string      `json:"log_provider"`
	Original string      `json:"original_time"`
	Sequence int64       `json:"sequence"`
	Tenant   string      `json:"tenant_uid"`
	Together string      `json:"correlation_uid,omitempty"` // the proposal that several lines are about
}

type ocsfProduct struct {
	Name    string `json:"name"`
	Vendor  string `json:"vendor_name"`
	Version string `json:"version,omitempty"`
	URL     string `json:"url_string,omitempty"`
}

type ocsfActor struct {
	User    *ocsfUser    `json:"user,omitempty"`
	App     string       `json:"app_name,omitempty"`
	AppUID  string       `json:"app_uid,omitempty"`
	Session *ocsfSession `json:"session,omitempty"`
}

type ocsfUser struct {
	UID  string `json:"uid"`
	Name string `json:"name,omitempty"`
	Type int    `json:"type_id"`
	Kind string `json:"type"`
}

type ocsfSession struct {
	UID        string `json:"uid,omitempty"`
	Credential string `json:"credential_uid,omitempty"`
}

type ocsfAPI struct {
	Operation string        `json:"operation"`
	Service   ocsfService   `json:"service"`
	Request   ocsfRequest   `json:"request"`
	Response  *ocsfResponse `json:"response,omitempty"`
}

type ocsfService struct {
	Name string `json:"name"`
}

type ocsfRequest struct {
	UID string `json:"uid"`
}

type ocsfResponse struct {
	Error   string `json:"error"`
	Message string `json:"error_message,omitempty"`
}

type ocsfEndpoint struct {
	Name    string `json:"name"`
	Service string `json:"svc_name"`
}

type ocsfResource struct {
	UID     string `json:"uid"`
	Type    string `json:"type,omitempty"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// ocsfUnmapped is what OCSF has no place for.
type ocsfUnmapped struct {
	Outcome   string          `json:"outcome"`
	Mode      string          `json:"mode,omitempty"`
	Skill     string          `json:"skill,omitempty"`
	Verdict   *domain.Verdict `json:"verdict,omitempty"`
	Yes       *Yes            `json:"yes,omitempty"`
	DecidedBy string          `json:"decidedBy,omitempty"`
	Changes   []domain.Line   `json:"changes,omitempty"`
	Clipped   bool            `json:"clipped,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Proposal  string          `json:"proposal,omitempty"`
	Undoes    domain.ID       `json:"undoes,omitempty"`
	Undone    domain.ID       `json:"undone,omitempty"`
}

// ocsfActivities are the verbs that OCSF has a number for; others are 99.
var ocsfActivities = map[string]struct {
	id   int
	name string
}{
	"create": {1, "Create"}, "mint": {1, "Create"}, "seat": {1, "Create"}, "make": {1, "Create"},
	"get": {2, "Read"}, "list": {2, "Read"}, "diff": {2, "Read"}, "export": {2, "Read"}, "whoami": {2, "Read"},
	"update": {3, "Update"}, "publish": {3, "Update"}, "rollback": {3, "Update"}, "undo": {3, "Update"},
	"remove": {4, "Delete"}, "revoke": {4, "Delete"}, "unseat": {4, "Delete"},
}

func (f ocsfForm) row(w io.Writer, r exportedRow) error {
	e := ocsfEvent{
		Category: ocsfCategory, CategoryName: "Application Activity", Class: ocsfClass, ClassName: "API Activity",
		Severity: 1, SeverityName: "Informational", Time: r.At.UnixMilli(), Count: r.Count,
		StatusCode: r.code(), StatusDetail: r.why(), Message: r.sentence(),
		Metadata: ocsfMetadata{
			Version: ocsfVersion, Product: ocsfProduct{Name: "Assent", Vendor: "Assent", Version: f.of.Version, URL: f.of.Source},
			UID: r.uid(), Code: r.Action, Log: "audit", Provider: "assent", Original: r.At.UTC().Format("2006-01-02T15:04:05.999999999Z"),
			Sequence: int64(r.Position), Tenant: f.of.Workspace, Together: r.Proposal,
		},
		Actor: r.ocsfActor(),
		API:   ocsfAPI{Operation: r.Action, Service: ocsfService{"assent"}, Request: ocsfRequest{string(r.ID)}},
		From:  r.ocsfFrom(),
		Unmapped: ocsfUnmapped{
			Outcome: r.Outcome, Mode: r.Mode, Skill: r.Skill, Verdict: r.Verdict, Yes: r.Yes, DecidedBy: r.DecidedBy, Changes: r.Changes,
			Clipped: r.Clipped, Reason: r.Reason, Proposal: r.Proposal, Undoes: r.Undoes, Undone: r.Undone,
		},
	}
	verb := r.Action[strings.LastIndexByte(r.Action, '.')+1:]
	e.Activity, e.ActivityName = 99, verb
	if known, ok := ocsfActivities[verb]; ok {
		e.Activity, e.ActivityName = known.id, known.name
	}
	e.Type, e.TypeName = ocsfClass*100+e.Activity, e.ClassName+": "+e.ActivityName
	e.Status, e.StatusName = ocsfStatus(r.Outcome)
	if r.Refusal != nil {
		e.API.Response = &ocsfResponse{r.Refusal.Code, r.Refusal.Reason}
	}
	if t := r.target(); t.ID != "" {
		e.Resources = []ocsfResource{{UID: t.ID, Type: t.Kind, Name: r.Title, Version: counted(int64(t.Version))}}
	}
	return json.NewEncoder(w).Encode(e)
}

// ocsfStatus is how it ended: what waits is neither a success nor a failure.
func ocsfStatus(outcome string) (id int, name string) {
	switch outcome {
	case commands.Done, commands.Idle, "read":
		return 1, "Success"
	case commands.Refused:
		return 2, "Failure"
	case commands.Waiting:
		return 99, "Waiting"
	}
	return 0, "Unknown"
}

// ocsfActor is who did it. Of an agent, the user is the person behind it, and
// the agent the application that acted for them.
func (r exportedRow) ocsfActor() ocsfActor {
	a := ocsfActor{App: r.Client.Name}
	user := r.Principal.ID
	if r.Principal.IsAgent() {
		user, a.AppUID = r.Person, r.Principal.ID
		if name := r.named(r.Principal.ID); name != "" {
			a.App = name
		}
	}
	switch {
	case user == "":
	case r.Principal.Kind == domain.KindSystem:
		a.User = &ocsfUser{user, r.named(user), 3, "System"}
	default:
		a.User = &ocsfUser{user, r.named(user), 1, "User"}
	}
	if r.Via.Session != "" || r.Via.Key != "" {
		a.Session = &ocsfSession{r.Via.Session, r.Via.Key}
	}
	return a
}

// ocsfFrom is the program that called, and through which door.
func (r exportedRow) ocsfFrom() ocsfEndpoint {
	e := ocsfEndpoint{Name: r.Client.Name, Service: "assent"}
	switch {
	case r.Via.Key != "":
		e.Service = "key"
	case r.Via.Session != "":
		e.Service = "session"
	case r.Via.Local != "":
		e.Service = "local"
	}
	if e.Name == "" {
		e.Name = string(r.Principal.Kind)
	}
	return e
}

// uid names a line among all lines of a workspace. An action that was asked
// for again under its id has several.
func (r exportedRow) uid() string { return fmt.Sprintf("%s/%d", r.ID, r.Position) }

// subject is what a line is about, as kind/id.
func (r exportedRow) subject() string {
	return strings.TrimPrefix(r.target().Kind+"/"+r.target().ID, "/")
}

func (r exportedRow) target() commands.Target {
	if r.Target == nil {
		return commands.Target{}
	}
	return *r.Target
}

func (r exportedRow) yes() Yes {
	if r.Yes == nil {
		return Yes{}
	}
	return *r.Yes
}

// code is the code of a no, or else of what the rules said.
func (r exportedRow) code() string {
	switch {
	case r.Refusal != nil:
		return r.Refusal.Code
	case r.Verdict != nil:
		return r.Verdict.Code
	}
	return ""
}

// why is the sentence that goes with the code.
func (r exportedRow) why() string {
	switch {
	case r.Refusal != nil:
		return r.Refusal.Reason
	case r.Verdict != nil:
		return r.Verdict.Reason
	}
	return ""
}

// sentence is the line in words.
func (r exportedRow) sentence() string {
	who := r.named(r.Principal.ID)
	if who == "" {
		who = r.Principal.String()
	}
	return strings.TrimSpace(fmt.Sprintf("%s: %s %s %s", who, r.Action, r.Outcome, r.subject()))
}

// counted is a number, empty for none.
func counted(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
