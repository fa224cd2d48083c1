package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/guard"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// scopeOf is where an operation says which scope of a token it needs.
const scopeOf = "scope"

// shownScope is the same in the description.
const shownScope = "x-scope"

// needs says which scope a token must have for an operation.
func needs(scope pluginsdk.TokenScope, operation huma.Operation) huma.Operation {
	operation.Metadata = map[string]any{scopeOf: scope}
	return operation
}

// public says that an operation may be asked for by everybody.
func public(operation huma.Operation) huma.Operation {
	return needs("", operation)
}

// author returns in whose name a request is made: the caller's whose token it carries,
// else the one that its body names.
func author(ctx context.Context, named string) string {
	return cmp.Or(pluginsdk.PersonFrom(ctx), named)
}

// routes adds operations to a mux. Of each request is asked, in this order: who makes it,
// whether its body is of the right type, and whether that arrives.
type routes struct {
	*http.ServeMux
	bodies bodies
}

// Handle adds an operation. The body of an upload is left to its handler.
func (r routes) Handle(operation *huma.Operation, handler func(huma.Context)) {
	pattern := operation.Method + " " + operation.Path
	answer := func(w http.ResponseWriter, r *http.Request) {
		if caller := access.From(r.Context()); caller.Known() { // the core keeps by which token it was
			r = r.WithContext(pluginsdk.WithToken(r.Context(), caller.Token.ID))
		}
		handler(humago.NewContext(operation, r, w))
	}
	open := guard.Only(guard.JSONType, r.bodies.whole(pattern, answer))
	if operation.OperationID == uploadFile {
		open = guard.Only(guard.UploadType, http.HandlerFunc(answer))
	}
	switch scope := scopeNeeded(operation); {
	case operation.OperationID == fireCron:
		open = access.NeedForCron(scope, open)
	case scope != "":
		open = access.Need(scope, open)
	}
	r.ServeMux.Handle(pattern, open)
}

// field is a part of a request, and whether it is there.
type field struct {
	name  string
	given bool
}

// admits refuses fields of a request that need more than the operation does.
func admits(ctx context.Context, scope pluginsdk.TokenScope, fields ...field) error {
	caller := access.From(ctx)
	if caller.May(scope) {
		return nil
	}
	for _, field := range fields {
		if field.given {
			return huma.Error403Forbidden(fmt.Sprintf("%s needs a token with the scope %s; that of %s has %s", field.name, scope, caller.Token.Name, caller.Token.Scope))
		}
	}
	return nil
}

// typed are the commands that decide, and what a token needs for who types them: to write
// them in a conversation is no way around the scopes of the other routes. The core asks the
// same of all commands (Submission.Scope). Each is refused whose text fits says; nil:
// whatever follows it.
var typed = []struct {
	command string
	says    *lazy.Pattern
	scope   pluginsdk.TokenScope
}{
	{"tasks", lazy.Regexp(`(?i)^(approve|reject|cancel)\b`), pluginsdk.ScopeApprove},
	{"approve", nil, pluginsdk.ScopeApprove},
	{"allow", nil, pluginsdk.ScopeApprove},
	{"deny", nil, pluginsdk.ScopeApprove},
	{"approvals", nil, pluginsdk.ScopeApprove},
	{"thread", lazy.Regexp(`(?i)^(dir|permission|ask|account|report|delete)\b`), pluginsdk.ScopeAdmin},
	{"delegate", nil, pluginsdk.ScopeWork},
}

// admitTyped refuses a command for which the caller's scope is too little.
func admitTyped(ctx context.Context, content string) error {
	name, text, ok := pluginsdk.ParseCommand(content)
	if !ok {
		return nil
	}
	for _, c := range typed {
		if name == c.command && (c.says == nil || c.says.MatchString(text)) {
			return admits(ctx, c.scope, field{"the command /" + name + ", as it is written here,", true})
		}
	}
	return nil
}

// The ways to say who calls, as they are named in the description.
const (
	bearerScheme = "bearer"
	cookieScheme = "session"
)

// document says in the description which scope each operation needs, how a caller is
// known, and what is answered to who may not. An operation that does not say its scope is
// an error: it would be open to everybody.
func document(api *huma.OpenAPI) error {
	api.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		bearerScheme: {Type: "http", Scheme: "bearer", Description: "A program's token: harness token create"},
		cookieScheme: {Type: "apiKey", In: "cookie", Name: "harness_session_PORT", Description: "A browser's session, after /login; over TLS the name begins with __Host-"},
	}
	for path, item := range api.Paths {
		for _, operation := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Patch, item.Head, item.Options, item.Trace} {
			if operation == nil {
				continue
			}
			scope, said := operation.Metadata[scopeOf].(pluginsdk.TokenScope)
			switch {
			case !said || scope != "" && !scope.Has(scope):
				return fmt.Errorf("the operation %s of %s does not say which scope it needs", operation.OperationID, path)
			case scope == "":
				operation.Security = []map[string][]string{{}, {bearerScheme: {}}, {cookieScheme: {}}}
			default:
				operation.Security = []map[string][]string{{bearerScheme: {}}, {cookieScheme: {}}}
				operation.Extensions = map[string]any{shownScope: string(scope)}
				addProblem(operation, http.StatusForbidden, "The token's scope is too little, or the plugin web has not been granted what this needs, or a page of another site asks")
			}
			addProblem(operation, http.StatusUnauthorized, "A token is demanded and was not sent, or is not good")
			addProblem(operation, http.StatusTooManyRequests, "Too many wrong tokens, or a quota is used up; Retry-After says when to come again")
		}
	}
	return nil
}

// addProblem documents a problem document that is answered with a status, beside those
// that any other status comes with.
func addProblem(operation *huma.Operation, status int, description string) {
	other := operation.Responses["default"]
	if other == nil {
		return
	}
	operation.Responses[fmt.Sprint(status)] = &huma.Response{Description: description, Content: other.Content}
}
