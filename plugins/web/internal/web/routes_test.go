package web

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// operation is one of the API, as its description has it.
type operation struct {
	method, path string
	ID           string                     `json:"operationId"`
	Scope        pluginsdk.TokenScope       `json:"x-scope"`
	Security     []map[string][]string      `json:"security"`
	Parameters   []parameter                `json:"parameters"`
	Body         *content                   `json:"requestBody"`
	Responses    map[string]json.RawMessage `json:"responses"`
}

type parameter struct {
	Name     string         `json:"name"`
	In       string         `json:"in"`
	Required bool           `json:"required"`
	Schema   map[string]any `json:"schema"`
}

type content struct {
	Content map[string]struct {
		Schema map[string]any `json:"schema"`
	} `json:"content"`
}

// description is the OpenAPI document.
type description struct {
	operations []operation
	whole      map[string]any // for references
}

// described reads the document that is served.
func (s *instance) described() description {
	s.Helper()
	_, admin := s.token("reader", pluginsdk.ScopeAdmin)
	return describedBy(s.T, s.expect("the description", s.ask("GET", "/api/openapi.json", "", "Authorization", admin), 200).body)
}

func describedBy(t *testing.T, raw string) (d description) {
	t.Helper()
	var document struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal([]byte(raw), &document); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(raw), &d.whole); err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(document.Paths[path])) {
			found := document.Paths[path][method]
			found.method, found.path = strings.ToUpper(method), path
			d.operations = append(d.operations, found)
		}
	}
	if len(d.operations) < 20 {
		t.Fatalf("%d operations", len(d.operations))
	}
	return d
}

// Each scope against each route. The table is the API's own description, so that a route
// that is added is in it.
func TestEachScopeAgainstEachRoute(t *testing.T) {
	s := demanding(t)
	routes := s.described().operations
	for _, path := range []string{"/ws", "/metrics", "/api/openapi.json", "/api/docs"} {
		routes = append(routes, operation{method: "GET", path: path, Scope: pluginsdk.ScopeRead})
	}
	gone, revoked := s.token("gone", pluginsdk.ScopeAdmin)
	s.host.RevokeToken(gone.ID)
	_, login := s.host.MakeToken(pluginsdk.CreateTokenRequest{Name: "l", Scope: pluginsdk.ScopeAdmin, Kind: pluginsdk.TokenLogin})
	scopes := []pluginsdk.TokenScope{pluginsdk.ScopeRead, pluginsdk.ScopeChat, pluginsdk.ScopeApprove, pluginsdk.ScopeAdmin}
	tokens := make(map[pluginsdk.TokenScope]string)
	for _, scope := range scopes {
		_, tokens[scope] = s.token(string(scope), scope)
	}
	_, hook := s.token("hook", pluginsdk.ScopeOfCron("x")) // {name} is x below: only of its own job it is let in
	for _, page := range []string{"/", "/chat", "/threads"} {
		routes = append(routes, operation{method: "GET", path: page, Scope: pluginsdk.ScopeRead})
	}
	for _, route := range routes {
		path := strings.NewReplacer("{id}", "T", "{name}", "x").Replace(route.path)
		if strings.Contains(path, "{") {
			path = path[:strings.Index(path, "{")] + "x" + path[strings.Index(path, "}")+1:]
		}
		what := route.method + " " + route.path
		if route.Scope == "" {
			if route.path != "/api/health" {
				t.Errorf("%s is open to everybody", what)
			}
			continue
		}
		for name, token := range map[string]string{"nothing": "", "a forged token": "Bearer harness_access_forged", "a revoked token": revoked, "a login token": "Bearer " + login} {
			headers := []string{"Authorization", token}
			if token == "" {
				headers = nil
			}
			if answer := s.ask(route.method, path, "", headers...); answer.status != 401 && (token == "" || answer.status != 429) {
				t.Errorf("%s with %s: %d %s", what, name, answer.status, answer.body)
			}
		}
		its := route.method == "POST" && route.path == "/api/crons/{name}/fire"
		if answer := s.ask(route.method, path, "", "Authorization", hook); its != (answer.status == 404) || !its && answer.status != 403 {
			t.Errorf("%s with a token for one job: %d %s", what, answer.status, answer.body)
		}
		for _, scope := range scopes {
			answer := s.ask(route.method, path, "", "Authorization", tokens[scope])
			if refused := answer.status == 403 || answer.status == 401; refused == scope.Has(route.Scope) {
				t.Errorf("%s with %s: %d %s; it needs %s", what, scope, answer.status, answer.body, route.Scope)
			}
		}
	}
}

// Clients are generated from the description: it must say who may what, and how one says
// who one is.
func TestTheDescriptionSaysWhoMay(t *testing.T) {
	s := demanding(t)
	d := s.described()
	for _, o := range d.operations {
		for _, status := range []string{"401", "429", "default"} {
			if o.Responses[status] == nil {
				t.Errorf("%s: %s is not described", o.ID, status)
			}
		}
		if o.Scope != "" && (o.Responses["403"] == nil || len(o.Security) != 2) || o.Scope == "" && len(o.Security) != 3 {
			t.Errorf("%s: %s %v", o.ID, o.Scope, o.Security)
		}
	}
	schemes, _ := d.whole["components"].(map[string]any)["securitySchemes"].(map[string]any)
	if schemes["bearer"] == nil || schemes["session"] == nil {
		t.Errorf("schemes %v", schemes)
	}
}
