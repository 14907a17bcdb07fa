package httpapi

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
)

var inPath = regexp.MustCompile(`\{([a-z]+)\}`)

// getOpenAPI describes the interface: the routes as they are registered and
// the actions as they are declared, so it cannot say anything else than what
// the server does.
func (s *Server) getOpenAPI(w http.ResponseWriter, _ *http.Request, _ caller) error {
	return answer(w, http.StatusOK, s.openAPI())
}

type object = map[string]any

func (s *Server) openAPI() object {
	paths := map[string]object{}
	add := func(path, method string, operation object) {
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(method)] = operation
	}
	for _, rt := range s.routes() {
		if rt.about == "" {
			continue
		}
		var parameters []object
		for _, name := range inPath.FindAllStringSubmatch(rt.path, -1) {
			parameters = append(parameters, object{"name": name[1], "in": "path", "required": true, "schema": object{"type": "string"}})
		}
		operation := object{"summary": rt.about, "security": security(rt.accepts), "responses": responses("The answer", object{})}
		if parameters != nil {
			operation["parameters"] = parameters
		}
		if rt.method == http.MethodPost || rt.method == http.MethodPatch {
			operation["requestBody"] = object{"content": object{"application/json": object{"schema": object{"type": "object"}}}}
		}
		add(rt.path, rt.method, operation)
	}
	for _, a := range s.registry.All() {
		if doors[a.Name] != "" {
			continue
		}
		add("/api/v1/actions/"+a.Name, http.MethodPost, object{
			"operationId": a.Tool(),
			"summary":     a.Title,
			"description": a.About,
			"security":    security(session | key),
			"requestBody": object{"content": object{"application/json": object{"schema": json.RawMessage(a.Schema())}}},
			"responses":   responses("It happened, was already so, was rehearsed, or was read", object{"$ref": "#/components/schemas/Outcome"}),
		})
	}
	return object{
		"openapi": "3.1.0",
		"info":    object{"title": "Assent", "version": s.version},
		"servers": []object{{"url": s.public.String()}},
		"paths":   paths,
		"components": object{
			"securitySchemes": object{
				"session": object{"type": "apiKey", "in": "cookie", "name": secureCookie, "description": "A signed-in person. On plain loopback the cookie is called " + plainCookie + "."},
				"key":     object{"type": "http", "scheme": "bearer", "description": "The key of an agent; x-api-key is taken too."},
			},
			"schemas": object{"Outcome": outcomeSchema, "Problem": problemSchema},
		},
	}
}

func security(accepts credential) []object {
	ways := []object{}
	if accepts&session != 0 {
		ways = append(ways, object{"session": []string{}})
	}
	if accepts&key != 0 {
		ways = append(ways, object{"key": []string{}})
	}
	return ways
}

func responses(well string, schema object) object {
	problem := object{"description": "A no, with a code and a sentence", "content": object{"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}}}}
	outcome := object{"application/json": object{"schema": schema}}
	return object{
		"200":     object{"description": well, "content": outcome},
		"202":     object{"description": "It waits for a person", "content": outcome},
		"default": problem,
	}
}

// outcomeSchema and problemSchema name the fields that callers may rely on.
var (
	outcomeSchema = json.RawMessage(`{"type":"object","required":["outcome"],"properties":{` +
		`"outcome":{"enum":["done","idle","waiting","refused","rehearsed","unknown"]},` +
		`"action":{"type":"string"},"position":{"type":"string"},` +
		`"target":{"type":"object","properties":{"kind":{"type":"string"},"id":{"type":"string"},"version":{"type":"integer"}}},` +
		`"changes":{"type":"array","items":{"type":"object","properties":{"of":{"type":"string"},"field":{"type":"string"},"before":{},"after":{}}}},` +
		`"undo":{"type":"object","properties":{"until":{"type":"string","format":"date-time"}}},` +
		`"verdict":{"type":"object"},"proposal":{"type":"object"},` +
		`"conflict":{"type":"object","properties":{"digest":{"type":"string"},"columns":{"type":"array","items":{"type":"object","properties":{"of":{"type":"string"},"field":{"type":"string"},"before":{},"set":{},"now":{},"clean":{"type":"boolean"}}}}}},` +
		`"contained":{"type":"object"},` +
		`"refusal":{"type":"object","properties":{"code":{"type":"string"},"reason":{"type":"string"}}}}}`)
	problemSchema = json.RawMessage(`{"type":"object","required":["type","title","status","code","detail"],"properties":{` +
		`"type":{"type":"string"},"title":{"type":"string"},"status":{"type":"integer"},"code":{"type":"string"},` +
		`"detail":{"type":"string"},"call":{"type":"string"},"outcome":{"$ref":"#/components/schemas/Outcome"}}}`)
)
