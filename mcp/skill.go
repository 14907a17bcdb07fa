package mcp

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"assent/domain"
	"assent/mcp/skills"
)

// skillsExtension is SEP-2640: skills are resources, and two methods say which
// there are, with every file's digest.
const skillsExtension = "io.modelcontextprotocol/skills"

const skillScheme = "skill://"

type (
	listSkillsParams struct {
		sdk.ParamsBase
		Cursor string `json:"cursor,omitempty"`
	}
	getSkillParams struct {
		sdk.ParamsBase
		URI string `json:"uri"`
	}
	listSkillsResult struct {
		sdk.ResultBase
		sdk.Cacheable
		ResultType string       `json:"resultType"`
		Skills     []skillEntry `json:"skills"`
	}
	getSkillResult struct {
		sdk.ResultBase
		sdk.Cacheable
		ResultType string     `json:"resultType"`
		Skill      skillEntry `json:"skill"`
	}
)

// skillEntry is a skill as its host registers it and asks a person about it.
type skillEntry struct {
	URI       string       `json:"uri"`
	Front     skills.Front `json:"frontmatter"`
	Resources []skillFile  `json:"resources"`
}

type skillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

func entryOf(s skills.Skill) skillEntry {
	e := skillEntry{URI: uriOf(s, skills.Manifest), Front: s.Front}
	for _, f := range s.Files {
		e.Resources = append(e.Resources, skillFile{uriOf(s, f.Path), f.Digest, f.Size})
	}
	return e
}

// uriOf needs no escaping: names and paths are of plain letters.
func uriOf(s skills.Skill, path string) string { return skillScheme + s.Name + "/" + path }

// addSkills serves skills. Anybody who may call reads them all: they hold ways
// of working and no content.
func (d *Door) addSkills(s *sdk.Server) error {
	if d.skills == nil {
		return nil
	}
	s.AddResourceTemplate(
		&sdk.ResourceTemplate{Name: "skill", Title: "Skill", Description: "A file of a skill: how a job is done here.", MIMEType: "text/markdown", URITemplate: skillScheme + "{skill}/{+file}"},
		d.readSkill)
	return errors.Join(
		sdk.AddReceivingCustomMethod(s, "skills/list", d.listSkills),
		sdk.AddReceivingCustomMethod(s, "skills/get", d.getSkill),
	)
}

func (d *Door) listSkills(ctx context.Context, _ *sdk.ServerSession, p *listSkillsParams) (*listSkillsResult, error) {
	if p != nil && p.Cursor != "" {
		return nil, noPage
	}
	all, err := d.allSkills(ctx)
	if err != nil {
		return nil, err
	}
	res := &listSkillsResult{ResultType: "complete", Cacheable: kept, Skills: []skillEntry{}}
	for _, s := range all {
		res.Skills = append(res.Skills, entryOf(s))
	}
	return res, nil
}

func (d *Door) getSkill(ctx context.Context, _ *sdk.ServerSession, p *getSkillParams) (*getSkillResult, error) {
	if p == nil {
		p = &getSkillParams{}
	}
	name, path, _ := strings.Cut(strings.TrimPrefix(p.URI, skillScheme), "/")
	s, found, err := d.skill(ctx, name)
	if err != nil {
		return nil, err
	}
	if !found || path != skills.Manifest || !strings.HasPrefix(p.URI, skillScheme) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "There is no such skill. List the skills for those there are.", Data: stable("not-found")}
	}
	return &getSkillResult{ResultType: "complete", Cacheable: kept, Skill: entryOf(s)}, nil
}

// readSkill reads one file of a skill.
func (d *Door) readSkill(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	name, path, _ := strings.Cut(strings.TrimPrefix(uri, skillScheme), "/")
	s, found, err := d.skill(ctx, name)
	if err != nil {
		return nil, err
	}
	f, there := s.File(path)
	if !found || !there {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: f.MediaType(), Text: f.Text}}}, nil
}

// skillResources are the skills as resources that a person can attach.
func (d *Door) skillResources(ctx context.Context) ([]*sdk.Resource, error) {
	all, err := d.allSkills(ctx)
	if err != nil {
		return nil, err
	}
	list := []*sdk.Resource{}
	for _, s := range all {
		list = append(list, &sdk.Resource{URI: uriOf(s, skills.Manifest), Name: s.Name, Description: s.Front.Description, MIMEType: "text/markdown", Size: s.Files[0].Size})
	}
	return list, nil
}

func (d *Door) allSkills(ctx context.Context) ([]skills.Skill, error) {
	if d.skills == nil {
		return nil, nil
	}
	all, _, err := d.skills.List() // what is amiss is for whoever looks after the folder
	if err != nil {
		d.logger.ErrorContext(ctx, "the skills could not be listed", "err", err)
		return nil, errInternal
	}
	return all, nil
}

// skill finds one that can be used.
func (d *Door) skill(ctx context.Context, name string) (skills.Skill, bool, error) {
	s, err := d.skills.Get(name)
	if _, meant := errors.AsType[*domain.Refusal](err); meant {
		return skills.Skill{}, false, nil
	}
	if err != nil {
		d.logger.ErrorContext(ctx, "a skill could not be read", "err", err)
		return skills.Skill{}, false, errInternal
	}
	return s, true, nil
}
