package api_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
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
	ended      pluginsdk.Run // what waiting for a run returns
	waitErr    error         // how that fails
	deliveries []pluginsdk.Delivery
	stopped    pluginsdk.Stopped
	plugins    []pluginsdk.PluginInfo
	view       pluginsdk.SettingsView
	tools      []pluginsdk.ToolSpec
	result     pluginsdk.ToolResult
	submitted  func()    // called when a message is submitted
	deadline   time.Time // of the last call of a tool
	toolErr    error     // of calls of tools only
	tasks      []pluginsdk.Task
	history    pluginsdk.TaskHistoryResponse
	approvals  []pluginsdk.Approval
	rules      []pluginsdk.ApprovalRule
	files      []pluginsdk.WorkspaceFile
	texts      map[string]string // of files, by path, and of earlier ones, by path@version
}

type (
	threads struct {
		pluginsdk.Threads
		*host
	}
	messages struct {
		pluginsdk.Messages
		*host
	}
	runs struct {
		pluginsdk.Runs
		*host
	}
	approvals  struct{ *host }
	deliveries struct{ *host }
	tools      struct{ *host }
	tasks      struct {
		pluginsdk.Tasks
		*host
	}
	plugins struct {
		pluginsdk.Plugins
		*host
	}
)

func (h runs) Wait(context.Context, *pluginsdk.WaitRunRequest) (*pluginsdk.WaitRunResponse, error) {
	return &pluginsdk.WaitRunResponse{Run: h.ended}, cmp.Or(h.waitErr, h.err)
}

func (h *host) ask(question any) error {
	h.asked = append(h.asked, question)
	return h.err
}

func (h threads) Get(_ context.Context, request *pluginsdk.GetThreadRequest) (*pluginsdk.GetThreadResponse, error) {
	for _, thread := range h.threads {
		if thread.ID == request.ID {
			return &pluginsdk.GetThreadResponse{Thread: thread}, h.err
		}
	}
	return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no thread %q", request.ID)
}

func (h threads) List(_ context.Context, request *pluginsdk.ListThreadsRequest) (*pluginsdk.ListThreadsResponse, error) {
	return &pluginsdk.ListThreadsResponse{Threads: h.threads}, h.ask(request.Query)
}

func (h threads) Create(_ context.Context, request *pluginsdk.CreateThreadRequest) (*pluginsdk.CreateThreadResponse, error) {
	thread := pluginsdk.Thread{ID: "T-new", Name: request.Thread.Name, ReportTo: request.Thread.ReportTo}
	return &pluginsdk.CreateThreadResponse{Thread: thread}, h.ask(request.Thread)
}

func (h threads) Update(_ context.Context, request *pluginsdk.UpdateThreadRequest) (*pluginsdk.UpdateThreadResponse, error) {
	return &pluginsdk.UpdateThreadResponse{Thread: pluginsdk.Thread{ID: request.ID}}, h.ask(request.Patch)
}

func (h threads) Delete(_ context.Context, request *pluginsdk.DeleteThreadRequest) (*pluginsdk.DeleteThreadResponse, error) {
	return &pluginsdk.DeleteThreadResponse{}, h.ask(*request)
}

func (h threads) Branch(_ context.Context, request *pluginsdk.BranchThreadRequest) (*pluginsdk.BranchThreadResponse, error) {
	return &pluginsdk.BranchThreadResponse{Thread: pluginsdk.Thread{ID: "T-branch"}}, h.ask(*request)
}

func (h messages) Submit(_ context.Context, request *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	if request.Submission.Content == "panic" {
		panic("at the disco")
	}
	accepted := pluginsdk.Accepted{ThreadID: "T", MessageID: 7, RunID: "R"}
	if h.submitted != nil {
		h.submitted()
	}
	return &pluginsdk.SubmitMessageResponse{Accepted: accepted}, h.ask(request.Submission)
}

func (h messages) List(_ context.Context, request *pluginsdk.ListMessagesRequest) (*pluginsdk.ListMessagesResponse, error) {
	return &pluginsdk.ListMessagesResponse{Messages: h.messages}, h.ask(request.Query)
}

func (h runs) Get(_ context.Context, request *pluginsdk.GetRunRequest) (*pluginsdk.GetRunResponse, error) {
	if len(h.runs) == 0 {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no run %q", request.ID)
	}
	return &pluginsdk.GetRunResponse{Run: h.runs[0]}, h.err
}

func (h runs) List(_ context.Context, request *pluginsdk.ListRunsRequest) (*pluginsdk.ListRunsResponse, error) {
	return &pluginsdk.ListRunsResponse{Runs: h.runs}, h.ask(request.Query)
}

func (h runs) Cancel(_ context.Context, request *pluginsdk.CancelRunRequest) (*pluginsdk.CancelRunResponse, error) {
	run := pluginsdk.Run{ID: request.ID, State: pluginsdk.RunCancelled}
	return &pluginsdk.CancelRunResponse{Run: run}, h.ask(*request)
}

func (h runs) Retry(_ context.Context, request *pluginsdk.RetryRunRequest) (*pluginsdk.RetryRunResponse, error) {
	accepted := pluginsdk.Accepted{ThreadID: "T", MessageID: 8, RunID: "R2"}
	return &pluginsdk.RetryRunResponse{Accepted: accepted}, h.ask("retry " + request.ID + " by " + request.Author)
}

func (h runs) Stop(_ context.Context, request *pluginsdk.StopThreadRequest) (*pluginsdk.StopThreadResponse, error) {
	return &pluginsdk.StopThreadResponse{Stopped: h.stopped}, h.ask(*request)
}

func (h deliveries) List(_ context.Context, request *pluginsdk.ListDeliveriesRequest) (*pluginsdk.ListDeliveriesResponse, error) {
	return &pluginsdk.ListDeliveriesResponse{Deliveries: h.deliveries}, h.ask(request.Query)
}

func (h deliveries) Retry(_ context.Context, request *pluginsdk.RetryDeliveryRequest) (*pluginsdk.RetryDeliveryResponse, error) {
	delivery := pluginsdk.Delivery{ID: request.ID, State: pluginsdk.DeliveryPending}
	return &pluginsdk.RetryDeliveryResponse{Delivery: delivery}, h.ask("retry delivery " + request.ID)
}

func (h plugins) Settings(_ context.Context, request *pluginsdk.GetPluginSettingsRequest) (*pluginsdk.GetPluginSettingsResponse, error) {
	return &pluginsdk.GetPluginSettingsResponse{Settings: h.view}, h.ask("settings of " + request.Name)
}

func (h plugins) ChangeSettings(_ context.Context, request *pluginsdk.ChangePluginSettingsRequest) (*pluginsdk.ChangePluginSettingsResponse, error) {
	return &pluginsdk.ChangePluginSettingsResponse{}, h.ask("set " + request.Name + " " + string(request.Patch))
}

func (h plugins) List(context.Context, *pluginsdk.ListPluginsRequest) (*pluginsdk.ListPluginsResponse, error) {
	return &pluginsdk.ListPluginsResponse{Plugins: h.plugins}, h.err
}

func (h plugins) SetEnabled(_ context.Context, request *pluginsdk.SetPluginEnabledRequest) (*pluginsdk.SetPluginEnabledResponse, error) {
	return &pluginsdk.SetPluginEnabledResponse{}, h.ask(*request)
}

func (h plugins) Logs(_ context.Context, request *pluginsdk.ReadPluginLogRequest) (*pluginsdk.ReadPluginLogResponse, error) {
	return &pluginsdk.ReadPluginLogResponse{Lines: []pluginsdk.LogLine{{Level: "info", Text: "of " + request.Name}}}, h.ask(*request)
}

func (h tools) List(context.Context, *pluginsdk.ListToolsRequest) (*pluginsdk.ListToolsResponse, error) {
	return &pluginsdk.ListToolsResponse{Tools: h.tools}, h.err
}

func (h tools) Call(ctx context.Context, request *pluginsdk.InvokeToolRequest) (*pluginsdk.InvokeToolResponse, error) {
	deadline, _ := ctx.Deadline()
	h.deadline = deadline
	if err := h.ask("call " + request.Name + " " + string(request.Input)); err != nil || h.toolErr != nil {
		return nil, errors.Join(err, h.toolErr)
	}
	return &pluginsdk.InvokeToolResponse{Result: h.result}, nil
}

func (h tasks) Get(_ context.Context, request *pluginsdk.GetTaskRequest) (*pluginsdk.GetTaskResponse, error) {
	for _, task := range h.tasks {
		if task.ID == request.ID {
			return &pluginsdk.GetTaskResponse{Task: task}, h.err
		}
	}
	return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no task with the id %q", request.ID)
}

func (h tasks) List(_ context.Context, request *pluginsdk.ListTasksRequest) (*pluginsdk.ListTasksResponse, error) {
	return &pluginsdk.ListTasksResponse{Tasks: slices.Clone(h.tasks)}, h.ask(request.Query)
}

func (h tasks) History(_ context.Context, request *pluginsdk.TaskHistoryRequest) (*pluginsdk.TaskHistoryResponse, error) {
	return &h.history, h.ask(*request)
}

func (h tasks) Cancel(_ context.Context, request *pluginsdk.CancelTaskRequest) (*pluginsdk.CancelTaskResponse, error) {
	return &pluginsdk.CancelTaskResponse{Task: pluginsdk.Task{ID: request.ID, Status: pluginsdk.TaskCancelled}}, h.ask(*request)
}

func (h tasks) Decide(_ context.Context, request *pluginsdk.DecideTaskRequest) (*pluginsdk.DecideTaskResponse, error) {
	return &pluginsdk.DecideTaskResponse{Task: pluginsdk.Task{ID: request.ID, Status: pluginsdk.TaskEvaluating}}, h.ask(*request)
}

func (h approvals) Get(_ context.Context, request *pluginsdk.GetApprovalRequest) (*pluginsdk.GetApprovalResponse, error) {
	for _, approval := range h.approvals {
		if approval.ID == request.ID {
			return &pluginsdk.GetApprovalResponse{Approval: approval}, h.err
		}
	}
	return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no approval with the id %q", request.ID)
}

func (h approvals) List(_ context.Context, request *pluginsdk.ListApprovalsRequest) (*pluginsdk.ListApprovalsResponse, error) {
	return &pluginsdk.ListApprovalsResponse{Approvals: slices.Clone(h.approvals), More: len(h.approvals) > 0}, h.ask(request.Query)
}

func (h approvals) Decide(_ context.Context, request *pluginsdk.DecideApprovalRequest) (*pluginsdk.DecideApprovalResponse, error) {
	approval := pluginsdk.Approval{ID: request.ID, State: pluginsdk.ApprovalAllowed, Choice: request.Choice}
	return &pluginsdk.DecideApprovalResponse{Approval: approval}, h.ask(*request)
}

func (h approvals) Rules(_ context.Context, request *pluginsdk.ListApprovalRulesRequest) (*pluginsdk.ListApprovalRulesResponse, error) {
	return &pluginsdk.ListApprovalRulesResponse{Rules: h.rules, More: len(h.rules) > 0}, h.ask(*request)
}

func (h approvals) Revoke(_ context.Context, request *pluginsdk.RevokeApprovalRuleRequest) (*pluginsdk.RevokeApprovalRuleResponse, error) {
	return &pluginsdk.RevokeApprovalRuleResponse{}, h.ask(*request)
}

// fixture is the API as it is served, without the guard.
type fixture struct {
	*testing.T
	host    *host
	log     *bytes.Buffer
	handler http.Handler
	mux     *http.ServeMux
}

// of is the same API as another caller has it.
func (f fixture) of(caller access.Caller) fixture {
	f.handler = problem.Recover(problem.Routes(f.mux, as(caller, f.mux)), slog.New(slog.NewTextHandler(f.log, nil)))
	return f
}

func serve(t *testing.T) fixture {
	t.Helper()
	asked := new(host)
	return serveFor(t, asked, pluginsdk.Host{
		Threads: threads{host: asked}, Messages: messages{host: asked}, Runs: runs{host: asked},
		Deliveries: deliveries{asked}, Plugins: plugins{host: asked}, Tools: tools{asked}, Tasks: tasks{host: asked}, Approvals: approvals{asked},
		Commands: commands{asked}, Workspace: workspace{asked}, Search: searches{asked},
	})
}

// serveFor is serve for a host that is another than the recording one.
func serveFor(t *testing.T, asked *host, sdk pluginsdk.Host) fixture {
	t.Helper()
	f := fixture{T: t, host: asked, log: new(bytes.Buffer)}
	mux := http.NewServeMux()
	err := api.Register(mux, api.Config{
		Host:    sdk,
		Version: "1.2.3", Started: time.Now(), Log: slog.New(slog.NewTextHandler(f.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	f.mux = mux
	return f.of(access.Caller{Open: true})
}

// as has requests made by a caller.
func as(caller access.Caller, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(access.With(r.Context(), caller)))
	})
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
