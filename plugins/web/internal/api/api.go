// Package api is the REST API under /api, described by OpenAPI 3.1.
package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
	"github.com/seed-706843ae/harness/plugins/web/internal/reference"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	requestDeadline = 30 * time.Second
)

// Config is what the API needs.
type Config struct {
	Host    pluginsdk.Host
	Version string    // of Harness, shown by health
	Started time.Time // shown by health
	Log     *slog.Logger
	// Patience is how long an operation waits for a command that it types; 0: 20 s.
	Patience time.Duration
}

// handlers answers the operations.
type handlers struct {
	host     pluginsdk.Host
	version  string
	started  time.Time
	log      *slog.Logger
	patience time.Duration
}

// Register adds the API's routes and its description to mux.
func Register(mux *http.ServeMux, config Config) error {
	settings := huma.DefaultConfig("Harness", config.Version)
	settings.CreateHooks = nil // no $schema in answers
	settings.OpenAPIPath, settings.DocsPath, settings.SchemasPath = "", "", ""
	settings.Transformers = []huma.Transformer{tidyProblem}
	strictCasing()
	described := huma.NewAPI(settings, routes{mux, bodies{bodyTimeout, make(chan struct{}, largeAtOnce)}})
	described.UseMiddleware(withDeadline)

	h := &handlers{host: config.Host, version: config.Version, started: config.Started, log: config.Log, patience: cmp.Or(config.Patience, commandPatience)}
	h.registerChat(described)
	h.registerThreads(described)
	h.registerMessages(described)
	h.registerSearch(described)
	h.registerFiles(described)
	h.registerRuns(described)
	h.registerAccounts(described)
	h.registerTasks(described)
	h.registerCrons(described)
	h.registerBudgets(described)
	h.registerMemory(described)
	h.registerWorkflows(described)
	h.registerApprovals(described)
	h.registerDeliveries(described)
	h.registerPlugins(described)
	h.registerAdministration(described)
	h.registerSettings(described)
	h.registerTools(described)
	h.registerContext(described)
	h.registerTokens(described)
	h.registerInstallation(described)
	h.registerHealth(described)
	if err := document(described.OpenAPI()); err != nil {
		return err
	}

	describe(described.OpenAPI())
	// It takes longer than all else here together, and few ask for it.
	description := sync.OnceValues(func() ([]byte, error) { return json.Marshal(described.OpenAPI()) })
	mux.Handle("GET /api/openapi.json", access.Need(pluginsdk.ScopeRead, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text, err := description()
		if err != nil {
			config.Log.Error("the API cannot be described", "err", err)
			http.Error(w, "the API cannot be described: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(text)
	})))
	mux.Handle("GET /api/docs", access.Need(pluginsdk.ScopeRead, reference.Handler(described.OpenAPI(), scopeNeeded)))
	return nil
}

// patience is how long requests may take that take longer than others.
var patience = map[string]time.Duration{
	callTool: toolDeadline, "doctor": 5 * time.Minute, makeBackup: time.Hour, fetchBackup: 24 * time.Hour,
	installPlugin: 2 * time.Minute, upgradePlugin: 2 * time.Minute, removePlugin: time.Minute, followPlugin: time.Minute,
}

// withDeadline bounds the host calls of a request, and lets its answer be written by then. One
// that may take long ends with the right to make it.
func withDeadline(ctx huma.Context, next func(huma.Context)) {
	limit, long := patience[ctx.Operation().OperationID]
	until := ctx.Context()
	switch operation := ctx.Operation().OperationID; {
	case operation == uploadFile || operation == readFile: // they see to their connection themselves
		limit, long = streamDeadline, true
	case long:
		_, w := humago.Unwrap(ctx)
		// Where they cannot be set there are none either. When the server's own for the request
		// passes, it takes the client to have left.
		connection := http.NewResponseController(w)
		_ = connection.SetWriteDeadline(time.Now().Add(limit))
		_ = connection.SetReadDeadline(time.Time{})
	default:
		limit = requestDeadline
	}
	if long {
		of, release := access.Until(until)
		defer release()
		until = of
	}
	bounded, cancel := context.WithTimeout(until, limit)
	defer cancel()
	next(huma.WithContext(ctx, bounded))
}

// post describes an operation that takes a body.
func post(id, path, summary string, status int) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: http.MethodPost, Path: path, Summary: summary, DefaultStatus: status,
		MaxBodyBytes: -1, BodyReadTimeout: -1, // bodies sees to both
	}
}

// put describes an operation that makes or replaces.
func put(id, path, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: http.MethodPut, Path: path, Summary: summary,
		MaxBodyBytes: -1, BodyReadTimeout: -1, // bodies sees to both
	}
}

// patch describes an operation that changes the fields its body has.
func patch(id, path, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: http.MethodPatch, Path: path, Summary: summary,
		MaxBodyBytes: -1, BodyReadTimeout: -1, // bodies sees to both
	}
}

// get describes an operation that reads.
func get(id, path, summary string) huma.Operation {
	return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Summary: summary}
}

// remove describes an operation that deletes, and has nothing to answer.
func remove(id, path, summary string) huma.Operation {
	return huma.Operation{OperationID: id, Method: http.MethodDelete, Path: path, Summary: summary, DefaultStatus: http.StatusNoContent}
}

// fail turns an error of the host into the answer. What went wrong inside the
// server goes to its log only.
func (h *handlers) fail(operation string, err error) error {
	status := problem.Status(err)
	detail := err.Error()
	if status == http.StatusInternalServerError {
		h.log.Error("request failed", "operation", operation, "err", err)
		detail = operation + " failed inside the server; its log says more"
	}
	answer := huma.NewError(status, detail)
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		return huma.ErrorWithHeaders(answer, http.Header{"Retry-After": {"1"}})
	}
	return answer
}

// invalid is the answer to a body in which one field is wrong.
func invalid(field, message string) error {
	return huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{
		Location: "body." + field, Message: message,
	})
}

// tidyProblem names the fields in a problem's detail, for readers that show
// nothing else, and takes the body out of it: it can be long, or secret.
func tidyProblem(_ huma.Context, _ string, answer any) (any, error) {
	err, ok := answer.(error)
	if !ok {
		return answer, nil
	}
	var found *huma.ErrorModel
	if !errors.As(err, &found) || len(found.Errors) == 0 {
		return answer, nil
	}
	tidy := *found
	tidy.Errors = make([]*huma.ErrorDetail, 0, len(found.Errors))
	var parts []string
	for _, detail := range found.Errors {
		shown := *detail
		if strings.HasPrefix(shown.Location, "body") {
			shown.Value = nil
		}
		tidy.Errors = append(tidy.Errors, &shown)
		parts = append(parts, strings.TrimPrefix(shown.Location+": ", ": ")+shown.Message)
	}
	tidy.Detail += ": " + strings.Join(parts, "; ")
	return &tidy, nil
}

// list makes an absent list an empty one, so that clients always get an array.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
