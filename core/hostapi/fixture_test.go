package hostapi

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// taken is what makes tasks' transitions: it remembers what it was asked for.
type taken struct {
	Tasks
	said  []pluginsdk.TaskAnswer // of every task
	tasks []ledger.NewTask
	calls []string
	by    []ledger.By // whose word Decide was given
}

func (r *taken) Create(_ context.Context, task ledger.NewTask) (pluginsdk.Task, bool, error) {
	r.tasks = append(r.tasks, task)
	return pluginsdk.Task{ID: task.Plugin + "/" + task.Key}, len(r.tasks) > 1, nil
}

func (r *taken) call(words ...any) pluginsdk.Task {
	r.calls = append(r.calls, fmt.Sprint(words...))
	return pluginsdk.Task{ID: fmt.Sprint(words[1])}
}

func (r *taken) Iterate(_ context.Context, request pluginsdk.IterateTaskRequest) (pluginsdk.Task, pluginsdk.Accepted, error) {
	return r.call("iterate ", request.ID, request.Iteration), pluginsdk.Accepted{RunID: "R"}, nil
}

func (r *taken) Evaluate(_ context.Context, request pluginsdk.EvaluateTaskRequest) (pluginsdk.Task, error) {
	return r.call("evaluate ", request.ID, request.Iteration), nil
}

func (r *taken) History(_ context.Context, _ string, after int64, limit int) ([]pluginsdk.TaskIteration, []pluginsdk.TaskAnswer, error) {
	rest := r.said[after:]
	return []pluginsdk.TaskIteration{{Iteration: 1}}, rest[:min(len(rest), limit)], nil
}

func (r *taken) Suspend(_ context.Context, request pluginsdk.SuspendTaskRequest) (pluginsdk.Task, error) {
	return r.call("suspend ", request.ID, request.Iteration), nil
}

func (r *taken) Decide(_ context.Context, by ledger.By, request pluginsdk.DecideTaskRequest) (pluginsdk.Task, error) {
	r.by = append(r.by, by)
	return r.call("decide ", request.ID, " through ", by.Plugin), nil
}

func (r *taken) Fail(_ context.Context, id, _ string) (pluginsdk.Task, error) {
	return r.call("fail ", id), nil
}

func (r *taken) Cancel(_ context.Context, id, _ string, by ledger.By) (pluginsdk.Task, error) {
	return r.call("cancel ", id, " by ", by.Author, "/", by.Plugin), nil
}

// stub is a Store that remembers what it was asked to write.
type stub struct {
	runs map[string]pluginsdk.Run
	Store
	mu       sync.Mutex // of rows and runs
	threads  map[string]pluginsdk.Thread
	rows     []ledger.Append
	patches  []pluginsdk.ThreadPatch
	writes   []ledger.StateWrite
	statuses []pluginsdk.CronStatus
	measured []pluginsdk.NewMetric
	made     []pluginsdk.Task    // that there are
	listed   []pluginsdk.Message // that there are
	jobs     []pluginsdk.CronJob // that there are
	long     string              // in each run, metric and delivery that there is
	audits   []string
	appended func() // called in Append
	exists   error  // CreateThread says it of a thread that is there
}

func (s *stub) Thread(_ context.Context, id string) (pluginsdk.Thread, error) {
	thread, ok := s.threads[id]
	if !ok {
		return thread, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no thread %s", id)
	}
	return thread, nil
}

func (s *stub) Threads(_ context.Context, query pluginsdk.ThreadQuery) (found []pluginsdk.Thread, err error) {
	for _, thread := range s.threads {
		if (query.Kind == "" || thread.Kind == query.Kind) && (query.ParentThreadID == "" || thread.ParentThreadID == query.ParentThreadID) && (query.SourceID == "" || thread.Source == query.Source && thread.SourceID == query.SourceID) {
			found = append(found, thread)
		}
	}
	return found, nil
}

func (s *stub) CreateThread(_ context.Context, n pluginsdk.NewThread) (pluginsdk.Thread, bool, error) {
	for _, known := range s.threads {
		if known.Source == n.Source && known.SourceID == n.SourceID {
			return known, false, s.exists
		}
	}
	made := pluginsdk.Thread{ID: "made " + n.SourceID, Source: n.Source, SourceID: n.SourceID, Name: n.Name}
	s.threads[made.ID] = made
	return made, true, nil
}

// hall is Threads over the stub: it tells as the room of the threads does.
type hall struct {
	store    *stub
	events   *recorded
	branches []ledger.Branch
}

func (h *hall) Create(ctx context.Context, n pluginsdk.NewThread) (pluginsdk.Thread, bool, error) {
	made, created, err := h.store.CreateThread(ctx, n)
	if created {
		h.events.Publish(pluginsdk.EventThreadCreated, made.ID, nil)
	}
	return made, created, err
}

func (h *hall) Update(ctx context.Context, id string, patch pluginsdk.ThreadPatch) (pluginsdk.Thread, error) {
	h.events.Publish(pluginsdk.EventThreadUpdated, id, nil)
	return h.store.UpdateThread(ctx, id, patch)
}

func (h *hall) Permit(ctx context.Context, id string, patch pluginsdk.ThreadPatch, who, detail string) (pluginsdk.Thread, error) {
	action := "thread.permit"
	if patch.EndSession != nil {
		action, detail = "thread.endsession", *patch.EndSession+detail
	}
	if err := h.store.Audit(ctx, who, action, id, detail); err != nil {
		return pluginsdk.Thread{}, err
	}
	return h.Update(ctx, id, patch)
}

func (h *hall) Delete(ctx context.Context, id, who string) error {
	delete(h.store.threads, id)
	return h.store.Audit(ctx, who, "thread.delete", id, "")
}

func (h *hall) Branch(_ context.Context, branch ledger.Branch) (pluginsdk.Thread, bool, error) {
	h.branches = append(h.branches, branch)
	return pluginsdk.Thread{ID: "branch"}, len(h.branches) == 1, nil
}

func (s *stub) UpdateThread(ctx context.Context, id string, patch pluginsdk.ThreadPatch) (pluginsdk.Thread, error) {
	s.patches = append(s.patches, patch)
	return s.Thread(ctx, id)
}

func (s *stub) FindTarget(_ context.Context, plugin, place string) (pluginsdk.Thread, bool, error) {
	for _, thread := range s.threads {
		if thread.Source == plugin && thread.SourceID == place {
			return thread, true, nil
		}
	}
	return pluginsdk.Thread{}, false, nil
}

func (s *stub) ThreadOfTarget(_ context.Context, plugin, place string) (pluginsdk.Thread, error) {
	return pluginsdk.Thread{ID: plugin + "/" + place}, nil
}

func (s *stub) Append(_ context.Context, rows ledger.Append) (ledger.Appended, error) {
	if s.appended != nil {
		s.appended()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, rows)
	made := ledger.Appended{Messages: make([]pluginsdk.Message, len(rows.Rows))}
	for n, row := range rows.Rows {
		made.Messages[n] = pluginsdk.Message{ID: int64(n + 1), ThreadID: rows.ThreadID, Role: row.Role, Kind: row.Kind, Content: row.Content}
	}
	if rows.Deliver {
		made.Lanes = []ledger.Lane{{Plugin: "discord", Target: rows.ThreadID}}
	}
	return made, nil
}

// set makes the run the one that there is of its id.
func (s *stub) set(run pluginsdk.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs == nil {
		s.runs = make(map[string]pluginsdk.Run)
	}
	s.runs[run.ID] = run
}

func (s *stub) Run(_ context.Context, id string) (pluginsdk.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run, ok := s.runs[id]; ok {
		return run, nil
	}
	return pluginsdk.Run{ID: id}, nil
}

func (s *stub) Deliveries(_ context.Context, query pluginsdk.DeliveryQuery) ([]pluginsdk.Delivery, error) {
	if s.long != "" {
		return slices.Repeat([]pluginsdk.Delivery{{LastError: s.long}}, 20), nil
	}
	return []pluginsdk.Delivery{{ID: "D", State: query.State}}, nil
}

func (s *stub) Task(_ context.Context, id string) (pluginsdk.Task, error) {
	for _, task := range s.made {
		if task.ID == id {
			return task, nil
		}
	}
	return pluginsdk.Task{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no task %s", id)
}

func (s *stub) Tasks(_ context.Context, query pluginsdk.TaskQuery) (found []pluginsdk.Task, err error) {
	for _, task := range s.made {
		if query.ThreadID == "" || query.ThreadID == task.ThreadID {
			found = append(found, task)
		}
	}
	if query.Newest {
		slices.Reverse(found)
	}
	if query.Limit > 0 {
		found = found[:min(len(found), query.Limit)]
	}
	return found, nil
}

func (s *stub) MessagePage(context.Context, pluginsdk.MessageQuery) ([]pluginsdk.Message, bool, error) {
	return s.listed, false, nil
}

func (s *stub) Runs(context.Context, pluginsdk.RunQuery) (found []pluginsdk.Run, err error) {
	return slices.Repeat([]pluginsdk.Run{{Error: s.long}}, 20), nil
}

func (s *stub) QueryMetrics(context.Context, pluginsdk.MetricQuery) (found []pluginsdk.Metric, err error) {
	return slices.Repeat([]pluginsdk.Metric{{Tags: map[string]string{"tag": s.long}}}, 20), nil
}

func (s *stub) Crons(context.Context) ([]pluginsdk.CronJob, error) { return s.jobs, nil }

func (s *stub) SaveCron(_ context.Context, spec pluginsdk.CronSpec, enabled bool) (pluginsdk.CronJob, bool, error) {
	return pluginsdk.CronJob{Spec: spec, Enabled: enabled}, true, nil
}

func (s *stub) SetCronEnabled(_ context.Context, name string, enabled bool) (pluginsdk.CronJob, error) {
	return pluginsdk.CronJob{Spec: pluginsdk.CronSpec{Name: name}, Enabled: enabled}, nil
}

func (s *stub) FireCron(_ context.Context, name, data string) (pluginsdk.CronFire, error) {
	return pluginsdk.CronFire{Job: name, Data: data, State: pluginsdk.FirePending}, nil
}

func (s *stub) CronFires(context.Context, pluginsdk.CronFiresRequest) ([]pluginsdk.CronFire, bool, error) {
	return nil, false, nil
}

func (s *stub) ReportCron(_ context.Context, _ string, status pluginsdk.CronStatus, _ ...pluginsdk.CronFire) (pluginsdk.CronJob, error) {
	s.statuses = append(s.statuses, status)
	return pluginsdk.CronJob{Status: status}, nil
}

func (s *stub) RecordMetrics(_ context.Context, _ string, metrics []pluginsdk.NewMetric) error {
	s.measured = append(s.measured, metrics...)
	return nil
}

func (s *stub) GetState(_ context.Context, plugin, key string) (pluginsdk.StateEntry, error) {
	return pluginsdk.StateEntry{Key: plugin + "/" + key, Value: []byte(s.long), Revision: 3}, nil
}

func (s *stub) WriteState(_ context.Context, write ledger.StateWrite) (int64, error) {
	s.writes = append(s.writes, write)
	return int64(len(s.writes)), nil
}

func (s *stub) ListState(_ context.Context, plugin string, request pluginsdk.ListStateRequest) (pluginsdk.ListStateResponse, error) {
	return pluginsdk.ListStateResponse{Entries: []pluginsdk.StateEntry{{Key: plugin + "/" + request.Prefix}}, More: true}, nil
}

// switches is a Registry that turns plugins on and off.
type switches struct {
	Registry
	store *stub
}

func (s switches) SetEnabled(_ context.Context, by, plugin string, enabled bool) error {
	if plugin == "rival" {
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "/x is another's")
	}
	s.store.audits = append(s.store.audits, fmt.Sprintf("%s turns %s on: %t", by, plugin, enabled))
	return nil
}

func (s *stub) Audit(_ context.Context, who, action, target, detail string) error {
	s.audits = append(s.audits, strings.TrimSpace(strings.Join([]string{who, action, target, detail}, " ")))
	return nil
}

func (s *stub) Plugins(context.Context) ([]ledger.Plugin, error) {
	other := ledger.Plugin{Settings: []byte(`{"token":"secret"}`), Path: "/where/it/lies"}
	other.Name = "other"
	rival := ledger.Plugin{}
	rival.Name = "rival"
	return []ledger.Plugin{other, rival}, nil
}

func (s *stub) Plugin(_ context.Context, name string) (ledger.Plugin, error) {
	var row ledger.Plugin
	switch row.Name = name; name {
	case "discord":
		row.Manifest.Hooks = []pluginsdk.Hook{pluginsdk.HookDeliver}
	case "mute":
	default:
		return row, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no plugin %s", name)
	}
	return row, nil
}

// asked is an Inbox that remembers what it was asked.
type asked struct {
	rechecked   []string
	submissions []pluginsdk.Submission
	amendments  []ledger.Amendment
	turns       []pluginsdk.StartTurnRequest
	plugins     []string
	submitters  []ledger.By
	by          []ledger.By
}

func (a *asked) Submit(_ context.Context, by ledger.By, submission pluginsdk.Submission) (pluginsdk.Accepted, error) {
	a.submissions, a.plugins, a.submitters = append(a.submissions, submission), append(a.plugins, by.Plugin), append(a.submitters, by)
	return pluginsdk.Accepted{RunID: "R"}, nil
}

func (a *asked) Amend(_ context.Context, amendment ledger.Amendment) (pluginsdk.Message, error) {
	a.amendments = append(a.amendments, amendment)
	return pluginsdk.Message{ID: 1, Content: amendment.Content}, nil
}

func (*asked) Needs(content string) (pluginsdk.Capability, bool) {
	switch content {
	case "/stop":
		return pluginsdk.CapRunsControl, true
	case "/new":
		return pluginsdk.CapThreadsWrite, true
	case "/tasks approve K":
		return pluginsdk.CapTasksDecide, true
	}
	return "", false
}

func (*asked) AtOnce(content string) bool { return strings.HasPrefix(content, "/") }

func (a *asked) Cancel(_ context.Context, runID string, by ledger.By) (pluginsdk.Run, error) {
	a.by = append(a.by, by)
	return pluginsdk.Run{ID: runID}, nil
}

func (a *asked) Retry(_ context.Context, runID string, by ledger.By) (pluginsdk.Accepted, error) {
	a.by = append(a.by, by)
	return pluginsdk.Accepted{RunID: "again " + runID}, nil
}

func (a *asked) Recheck(_ context.Context, plugin string) error {
	a.rechecked = append(a.rechecked, plugin)
	return nil
}

func (a *asked) ResumeRun(_ context.Context, request pluginsdk.ResumeRunRequest, by ledger.By) (pluginsdk.Run, error) {
	a.by = append(a.by, by)
	return pluginsdk.Run{ID: request.RunID, Override: &pluginsdk.RunOverride{Model: request.Model}}, nil
}

func (a *asked) StopThread(_ context.Context, threadID string, queue pluginsdk.Queue, by ledger.By) (pluginsdk.Stopped, error) {
	a.by = append(a.by, by)
	return pluginsdk.Stopped{RunID: threadID + " " + string(queue)}, nil
}

func (a *asked) StartTurn(_ context.Context, plugin string, request pluginsdk.StartTurnRequest, cause string) (ledger.AcceptedTurn, error) {
	a.turns, a.plugins = append(a.turns, request), append(a.plugins, plugin)
	return ledger.AcceptedTurn{RunID: "turn caused by " + cause}, nil
}

func (*asked) Commands() []pluginsdk.Command {
	return []pluginsdk.Command{{CommandSpec: pluginsdk.CommandSpec{Name: "help"}}, {CommandSpec: pluginsdk.CommandSpec{Name: "x"}, Plugin: "p"}}
}

type outbox struct{ woken []string }

func (*outbox) Retry(_ context.Context, id string) (pluginsdk.Delivery, error) {
	return pluginsdk.Delivery{ID: id, State: pluginsdk.DeliveryPending}, nil
}

func (o *outbox) Wake(plugin, target string) { o.woken = append(o.woken, plugin+":"+target) }

type recorded struct {
	mu         sync.Mutex
	kinds      []pluginsdk.EventType
	data       json.RawMessage // of each event that there is
	subscribed chan struct{}   // closed by the first subscriber; may be nil
	// deliver is the subscriber's; nil: there is none.
	deliver func(context.Context, []pluginsdk.Event) error
}

func (r *recorded) Publish(kind pluginsdk.EventType, _ string, _ any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kinds = append(r.kinds, kind)
}
func (r *recorded) Relay(event pluginsdk.Event) { r.kinds = append(r.kinds, event.Type) }
func (r *recorded) Since(after pluginsdk.Position, limit int) pluginsdk.ListEventsResponse {
	events := make([]pluginsdk.Event, limit)
	for n := range events {
		after.Seq++
		events[n] = pluginsdk.Event{Seq: after.Seq, Boot: after.Boot, Data: r.data}
	}
	return pluginsdk.ListEventsResponse{Events: events, Next: after}
}

func (r *recorded) subscriber() func(context.Context, []pluginsdk.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deliver
}

func (r *recorded) Subscribe(_ string, _ []string, _ pluginsdk.Position, deliver func(context.Context, []pluginsdk.Event) error) func() pluginsdk.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliver = deliver
	if r.subscribed != nil {
		close(r.subscribed)
	}
	return func() pluginsdk.Position {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.deliver = nil
		return pluginsdk.Position{}
	}
}

// grants are what every plugin is granted. Each speaks for its own name, and web for
// the terminal as well.
type grants []pluginsdk.Capability

func (g grants) Granted(_ string, capability pluginsdk.Capability) bool {
	return slices.Contains(g, capability)
}

func (grants) Sources(plugin string) []string {
	switch plugin {
	case "web":
		return []string{"web", "cli"}
	case "shadowed":
		return nil
	}
	return []string{plugin}
}

// OwnsCommand: each has /PLUGIN alone.
func (grants) OwnsCommand(plugin, command string) bool { return command == plugin }

// CountDropped is what is said of rows that are not stored.
func (grants) CountDropped(plugin string, rows int, why string) {
	charges = append(charges, fmt.Sprintf("%s %d %s", plugin, rows, why))
}

var charges []string // of the test that runs; none of them is parallel

func (grants) Logs(_ context.Context, plugin string, _ int) ([]pluginsdk.LogLine, error) {
	return []pluginsdk.LogLine{{Text: "of " + plugin}}, nil
}

func (grants) SettingsOf(string) (json.RawMessage, bool) { return nil, false }

func (grants) AskCron(context.Context, ledger.Behalf, string, pluginsdk.CronQuestion) (pluginsdk.OnCronResponse, error) {
	return pluginsdk.OnCronResponse{}, nil
}

func (grants) Live(row ledger.Plugin) ledger.Plugin { return row }

// fixture is the Host of a plugin p, and what stands behind it.
type fixture struct {
	pluginsdk.Host
	store   *stub
	inbox   *asked
	hall    *hall
	files   contexts
	room    *taken
	outbox  *outbox
	events  *recorded
	tokens  *Tokens
	set     *operator
	clock   time.Time
	limits  pluginsdk.PluginLimits // of every plugin
	shipped bool                   // every plugin comes with Harness
	stored  map[string]int64
	reads   int // of stored
	log     strings.Builder
	api     *API
}

func newFixture(granted ...pluginsdk.Capability) *fixture {
	f := &fixture{
		store: &stub{threads: map[string]pluginsdk.Thread{
			"P":     {ID: "P", Source: "web", SourceID: "primary", Kind: pluginsdk.ThreadPrimary},
			"mine":  {ID: "mine", Source: "p", SourceID: "1", PermissionMode: "acceptEdits"},
			"here":  {ID: "here", Source: "p", SourceID: "2", Cwd: "/here"},
			"ann's": {ID: "ann's", Source: "discord", SourceID: "ann"},
			"loop":  {ID: "loop", Source: "discord", SourceID: "loop", ReportTo: pluginsdk.Target{ThreadID: "mine"}},
			"ring":  {ID: "ring", Source: "discord", SourceID: "ring", ReportTo: pluginsdk.Target{ThreadID: "ring"}},
		}},
		inbox: &asked{}, room: &taken{}, outbox: &outbox{}, events: &recorded{}, tokens: NewTokens(), set: &operator{},
		clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), stored: map[string]int64{},
	}
	f.hall = &hall{store: f.store, events: f.events}
	log := slog.New(slog.NewTextHandler(&f.log, nil))
	f.api = New(Config{
		Store: f.store, Threads: f.hall, Workspace: &f.files, Inbox: f.inbox, Tasks: f.room, Outbox: f.outbox, Events: f.events, Grants: grants(granted), Settings: f.set, Registry: switches{store: f.store}, Tokens: f.tokens,
		Quotas: NewQuotas(QuotaConfig{
			Limits: func(string) pluginsdk.PluginLimits { return f.limits },
			StoredBytes: func(_ context.Context, plugin string) (int64, error) {
				f.reads++
				return f.stored[plugin], nil
			},
			Shipped: func(string) bool { return f.shipped },
			Log:     log, Now: func() time.Time { return f.clock },
		}),
		Daemon: func(context.Context) []pluginsdk.Figure {
			return []pluginsdk.Figure{{Name: "harness_start_time_seconds", Kind: pluginsdk.FigureGauge}}
		},
		Apart: func(_ context.Context, thread pluginsdk.Thread) (bool, error) {
			for thread.Cwd != "/apart" {
				if thread.Kind != pluginsdk.ThreadTask {
					return false, nil
				}
				thread = f.store.threads[thread.ParentThreadID]
			}
			return true, nil
		},
		CheckPermissionMode: func(mode string) error {
			if !slices.Contains([]string{"", "default", "plan", "acceptEdits"}, mode) {
				return pluginsdk.Errorf(pluginsdk.CodeInvalid, "permissionMode: %q", mode)
			}
			return nil
		},
		Log: log,
	})
	f.Host = f.api.For("p")
	return f
}

// within returns the context of a hook call of the plugin p.
func (f *fixture) within(t *testing.T, origin ledger.Behalf) (ctx context.Context, token string) {
	token = f.tokens.Open(t.Context(), "p", origin, time.Now().Add(time.Hour))
	return pluginsdk.WithCall(t.Context(), pluginsdk.Call{ID: "R:x", RunID: "claimed", Token: token}), token
}

// text is a row that every plugin may append.
var text = []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Content: "x"}}

func (f *fixture) append(ctx context.Context, thread string, rows ...pluginsdk.NewMessage) error {
	_, err := f.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{ThreadID: thread, Key: "k", Messages: rows})
	return err
}

func second[T any](_ T, err error) error { return err }

// refused checks that a call was refused with a code and in words that help.
func refused(t *testing.T, what string, err error, code pluginsdk.Code, words ...string) {
	t.Helper()
	if pluginsdk.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %q does not say %q", what, err, word)
		}
	}
}
