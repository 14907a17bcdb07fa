package mcp

// What tools answer with: one shape for what changes something and one for
// what reads, written by hand, once for all. Every answer that is not an error
// fits. The things inside are as the contract describes them and may gain
// fields, so they stay open.
const (
	writeSchema = `{
	"type": "object",
	"required": ["outcome"],
	"properties": {
		"outcome": {"type": "string", "enum": ["done", "idle", "waiting", "refused", "rehearsed", "unknown"], "description": "unknown: ask again with the same command_id"},
		"action": {"type": "string", "description": "its id in the record"},
		"position": {"type": "string", "description": "its place in the log"},
		"target": {"type": "object", "properties": {"kind": {"type": "string"}, "id": {"type": "string"}, "version": {"type": "integer"}}, "required": ["kind", "id", "version"]},
		"changes": {"type": "array", "items": {"type": "object", "properties": {"of": {"type": "string"}, "field": {"type": "string"}, "before": {}, "after": {}}, "required": ["field"]}},
		"undo": {"type": "object", "properties": {"until": {"type": "string"}}, "required": ["until"]},
		"verdict": {"type": "object", "description": "what the rules said", "properties": {"answer": {"type": "string", "enum": ["act", "propose", "refuse"]}, "code": {"type": "string"}, "cause": {"type": "string"}, "reason": {"type": "string"}, "autoCheck": {"type": "object"}, "findings": {"type": "array", "items": {"type": "object"}}}, "required": ["answer"]},
		"proposal": {"type": "object", "description": "when it waits: the proposal a person decides on", "properties": {"id": {"type": "string"}, "url": {"type": "string", "description": "where a person decides"}, "cause": {"type": "string"}, "expires": {"type": "string"}, "state": {"type": "string"}}, "required": ["id"]},
		"refusal": {"type": "object", "properties": {"code": {"type": "string", "description": "stable; what programs go by"}, "reason": {"type": "string", "description": "a sentence that says what to do"}}, "required": ["code", "reason"]},
		"parts": {"type": "array", "description": "of several calls, what came of each, in order", "items": {"type": "object", "properties": {"outcome": {"type": "string"}}, "required": ["outcome"]}}
	}
}`

	readSchema = `{
	"type": "object",
	"required": ["outcome"],
	"properties": {
		"outcome": {"type": "string", "enum": ["done", "refused", "unknown"]},
		"site": {"type": "object"},
		"page": {"type": "object"},
		"article": {"type": "object"},
		"preview": {"type": "object"},
		"proposal": {"type": "object"},
		"whoami": {"type": "object"},
		"diff": {"type": "object"},
		"items": {"type": "array"},
		"next": {"type": "string", "description": "pass it as cursor for the next page"},
		"action": {"type": "string"},
		"verdict": {"type": "object"},
		"refusal": {"type": "object", "properties": {"code": {"type": "string", "description": "stable; what programs go by"}, "reason": {"type": "string", "description": "a sentence that says what to do"}}, "required": ["code", "reason"]}
	}
}`
)
