package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// host records what it is asked, and answers err when that is set.
type host struct {
	err   error
	asked []any

	threads    []pluginsdk.Thread
	messages   []pluginsdk.Message
	runs       []pluginsdk.Run
	deliveries []pluginsdk.Delivery
	stopped    pluginsdk.Stopped
	plugins    []pluginsdk.PluginInfo
	view       pluginsdk.SettingsView
	tools      []pluginsdk.ToolSpec
	result     pluginsdk.ToolResult
	deadline   time.Time // of the last call of a tool
}

type (
	threads  struct{ *host }
	messages struct {
		pluginsdk.Messages
		*host
	}
	runs       struct{ *host }
	deliveries struct{ *host }
	tools      struct{ *host }
	plugins    struct {
		pluginsdk.Plugins
		*host
	}
)

func (h *host) ask(question any) error {
	h.asked = append(h.asked, question)
	return h.err
}

func (h threads) Get(_ context.Context, id string) (pluginsdk.Thread, error) {
	for _, thread := range h.threads {
		if thread.ID == id {
			return thread, h.err
		}
	}
	return pluginsdk.Thread{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no thread %q", id)
}

func (h threads) List(_ context.Context, query pluginsdk.ThreadQuery) ([]pluginsdk.Thread, error) {
	return h.threads, h.ask(query)
}

func (h threads) Create(_ context.Context, thread pluginsdk.NewThread) (pluginsdk.Thread, error) {
	return pluginsdk.Thread{ID: "T-new", Name: thread.Name}, h.ask(thread)
}

func (h threads) Update(_ context.Context, id string, patch pluginsdk.ThreadPatch) (pluginsdk.Thread, error) {
	return pluginsdk.Thread{ID: id}, h.ask(patch)
}

func (h messages) Submit(_ context.Context, submission pluginsdk.Submission) (pluginsdk.Accepted, error) {
	if submission.Content == "panic" {
		panic("at the disco")
	}
	return pluginsdk.Accepted{ThreadID: "T", MessageID: 7, RunID: "R"}, h.ask(submission)
}

func (h messages) List(_ context.Context, query pluginsdk.MessageQuery) ([]pluginsdk.Message, error) {
	return h.messages, h.ask(query)
}

func (h runs) Get(_ context.Context, id string) (pluginsdk.Run, error) {
	if len(h.runs) == 0 {
		return pluginsdk.Run{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no run %q", id)
	}
	return h.runs[0], h.err
}

func (h runs) List(_ context.Context, query pluginsdk.RunQuery) ([]pluginsdk.Run, error) {
	return h.runs, h.ask(query)
}

func (h runs) Cancel(_ context.Context, id string) (pluginsdk.Run, error) {
	return pluginsdk.Run{ID: id, State: pluginsdk.RunCancelled}, h.ask("cancel " + id)
}

func (h runs) Retry(_ context.Context, id string) (pluginsdk.Accepted, error) {
	return pluginsdk.Accepted{ThreadID: "T", MessageID: 8, RunID: "R2"}, h.ask("retry " + id)
}

func (h runs) Stop(_ context.Context, threadID string, queue pluginsdk.Queue) (pluginsdk.Stopped, error) {
	return h.stopped, h.ask("stop " + threadID + " " + string(queue))
}

func (h deliveries) List(_ context.Context, query pluginsdk.DeliveryQuery) ([]pluginsdk.Delivery, error) {
	return h.deliveries, h.ask(query)
}

func (h deliveries) Retry(_ context.Context, id string) (pluginsdk.Delivery, error) {
	return pluginsdk.Delivery{ID: id, State: pluginsdk.DeliveryPending}, h.ask("retry delivery " + id)
}

func (h plugins) Settings(_ context.Context, name string) (pluginsdk.SettingsView, error) {
	return h.view, h.ask("settings of " + name)
}

func (h plugins) SetSettings(_ context.Context, name string, patch json.RawMessage) error {
	return h.ask("set " + name + " " + string(patch))
}

func (h plugins) List(context.Context) ([]pluginsdk.PluginInfo, error) {
	return h.plugins, h.err
}

func (h tools) List(context.Context) ([]pluginsdk.ToolSpec, error) { return h.tools, h.err }

func (h tools) Call(ctx context.Context, name string, input json.RawMessage) (pluginsdk.ToolResult, error) {
	deadline, _ := ctx.Deadline()
	h.deadline = deadline
	return h.result, h.ask("call " + name + " " + string(input))
}

// fixture is the API as it is served, without the guard.
type fixture struct {
	*testing.T
	host    *host
	log     *bytes.Buffer
	handler http.Handler
}

func serve(t *testing.T) fixture {
	t.Helper()
	f := fixture{T: t, host: new(host), log: new(bytes.Buffer)}
	mux := http.NewServeMux()
	err := api.Register(mux, api.Config{
		Host: pluginsdk.Host{
			Threads: threads{f.host}, Messages: messages{host: f.host}, Runs: runs{f.host},
			Deliveries: deliveries{f.host}, Plugins: plugins{host: f.host}, Tools: tools{f.host},
		},
		Version: "1.2.3", Started: time.Now(), Log: slog.New(slog.NewTextHandler(f.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	f.handler = problem.Recover(problem.Routes(mux), slog.New(slog.NewTextHandler(f.log, nil)))
	return f
}

// answer is what a client gets.
type answer struct {
	status int
	header http.Header
	raw    string
	body   map[string]any
}

func (f fixture) send(method, path, body string) answer {
	f.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request := httptest.NewRequest(method, path, reader)
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	f.handler.ServeHTTP(recorder, request)
	got := answer{status: recorder.Code, header: recorder.Header(), raw: recorder.Body.String()}
	if err := json.Unmarshal(recorder.Body.Bytes(), &got.body); err != nil {
		f.Fatalf("%s %s: %d %q: %v", method, path, got.status, got.raw, err)
	}
	return got
}

// isProblem checks that an answer is a problem document whose detail has words.
func (f fixture) isProblem(got answer, status int, words string) {
	f.Helper()
	detail, _ := got.body["detail"].(string)
	if got.status != status || got.body["status"] != float64(status) || got.body["title"] != http.StatusText(status) ||
		got.header.Get("Content-Type") != "application/problem+json" || !strings.Contains(detail, words) {
		f.Errorf("got %d %s %s; want the problem %d with %q", got.status, got.header.Get("Content-Type"), got.raw, status, words)
	}
}
