package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestChatSubmits(t *testing.T) {
	f := serve(t)
	got := f.send("POST", "/api/chat", `{"threadId":"T","content":" hi <b>","idempotencyKey":"k","author":"Ann","source":"cli",
		"attachments":[{"name":"a.txt","type":"text/plain","size":3,"where":"/tmp/a.txt"}]}`)
	if got.status != http.StatusAccepted || got.raw != `{"threadId":"T","messageId":7,"runId":"R","existed":false}`+"\n" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	want := pluginsdk.Submission{
		ThreadID: "T", Source: "cli", Key: "k", Author: "Ann", Content: " hi <b>",
		Attachments: []pluginsdk.Attachment{{Name: "a.txt", Type: "text/plain", Size: 3, Where: "/tmp/a.txt"}},
		Scope:       pluginsdk.ScopeAdmin, // no token is demanded
	}
	if !reflect.DeepEqual(f.host.asked, []any{want}) {
		t.Errorf("submitted %+v", f.host.asked)
	}
}

func TestChatDefaults(t *testing.T) {
	f := serve(t)
	for range 2 {
		f.send("POST", "/api/chat", `{"content":"hi"}`)
	}
	one, two := f.host.asked[0].(pluginsdk.Submission), f.host.asked[1].(pluginsdk.Submission)
	if one.ThreadID != "" || one.Source != "web" {
		t.Errorf("submitted %+v", one)
	}
	if one.Key == "" || one.Key == two.Key {
		t.Errorf("keys %q and %q: the second message would be taken for the first", one.Key, two.Key)
	}
}

func TestWrongRequestsAreProblems(t *testing.T) {
	long := strings.Repeat("x", 256<<10+1)
	cases := []struct {
		name, method, path, body string
		status                   int
		words                    string
	}{
		{"empty content", "POST", "/api/chat", `{"content":""}`, 422, "body.content"},
		{"blank content", "POST", "/api/chat", `{"content":" \n"}`, 422, "body.content"},
		{"no content", "POST", "/api/chat", `{}`, 422, "content"},
		{"content of another type", "POST", "/api/chat", `{"content":5}`, 422, "body.content"},
		{"content too long", "POST", "/api/chat", `{"content":"` + long + `"}`, 422, "body.content: has 262145 bytes"},
		{"content with NUL", "POST", "/api/chat", `{"content":"a\u0000b"}`, 422, "NUL"},
		{"unknown field", "POST", "/api/chat", `{"content":"x","thread":"T"}`, 422, "thread"},
		{"a field in capitals", "POST", "/api/chat", `{"CONTENT":"x"}`, 422, "CONTENT"},
		{"a field twice, once in capitals", "POST", "/api/chat", `{"content":"x","Content":"y"}`, 422, "Content"},
		{"unknown source", "POST", "/api/chat", `{"content":"x","source":"discord"}`, 422, "body.source"},
		{"key too long", "POST", "/api/chat", `{"content":"x","idempotencyKey":"` + long[:201] + `"}`, 422, "idempotencyKey"},
		{"no JSON", "POST", "/api/chat", `{"content":`, 400, "body"},
		{"no body", "POST", "/api/chat", ``, 400, "body"},
		{"body too large", "POST", "/api/chat", `{"content":"` + strings.Repeat(long, 4) + `"}`, 413, "too large"},
		{"unknown path", "GET", "/api/nothing", ``, 404, "/api/nothing"},
		{"outside", "GET", "/etc/passwd", ``, 404, "/etc/passwd"},
		{"unclean unknown path", "GET", "/api//nothing", ``, 404, "/api//nothing"},
		{"wrong method", "DELETE", "/api/chat", ``, 405, "allowed: POST"},
		{"preflight", "OPTIONS", "/api/chat", ``, 405, "POST"},
		{"limit 0", "GET", "/api/threads?limit=0", ``, 422, "query.limit"},
		{"limit too large", "GET", "/api/threads?limit=1001", ``, 422, "query.limit"},
		{"limit no number", "GET", "/api/threads?limit=many", ``, 422, "query.limit"},
		{"after no number", "GET", "/api/threads/T/messages?after=x", ``, 422, "query.after"},
		{"negative before", "GET", "/api/threads/T/messages?before=-1", ``, 422, "query.before"},
		{"unknown kind", "GET", "/api/threads/T/messages?kind=poem", ``, 422, "query.kind"},
		{"unknown state", "GET", "/api/threads/T/runs?state=dead", ``, 422, "query.state"},
		{"permissions skipped", "POST", "/api/threads", `{"permissionMode":"bypassPermissions"}`, 422, "permissionMode"},
		{"stop with another queue", "POST", "/api/threads/T/stop", `{"queue":"dorp"}`, 422, "body.queue"},
		{"stop with an unknown field", "POST", "/api/threads/T/stop", `{"drop":true}`, 422, "drop"},
		{"change to skip permissions", "PATCH", "/api/threads/T", `{"permissionMode":"bypassPermissions"}`, 422, "permissionMode"},
		{"change to an unknown busy mode", "PATCH", "/api/threads/T", `{"busyMode":"panic"}`, 422, "busyMode"},
		{"change of what is fixed", "PATCH", "/api/threads/T", `{"source":"cli"}`, 422, "source"},
		{"change to a long name", "PATCH", "/api/threads/T", `{"name":"` + long[:201] + `"}`, 422, "name"},
		{"change to report nowhere", "PATCH", "/api/threads/T", `{"reportTo":"No Plugin"}`, 422, "body.reportTo"},
		{"a thread that reports nowhere", "POST", "/api/threads", `{"reportTo":"thread:"}`, 422, "body.reportTo"},
		{"unknown order", "GET", "/api/threads?order=name", ``, 422, "query.order"},
		{"cancel with an unknown field", "POST", "/api/runs/R/cancel", `{"who":"Ann"}`, 422, "who"},
		{"unknown delivery state", "GET", "/api/deliveries?state=lost", ``, 422, "query.state"},
		{"unknown thread", "GET", "/api/threads/none", ``, 404, `"none"`},
		{"messages of an unknown thread", "GET", "/api/threads/none/messages", ``, 404, `"none"`},
		{"runs of an unknown thread", "GET", "/api/threads/none/runs", ``, 404, `"none"`},
		{"unknown run", "GET", "/api/runs/none", ``, 404, `"none"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := serve(t)
			got := f.send(c.method, c.path, c.body)
			fixture{T: t}.isProblem(got, c.status, c.words)
			if strings.Contains(got.raw, "xxxxxxxx") {
				t.Error("the body is sent back")
			}
			for _, question := range f.host.asked {
				if _, submitted := question.(pluginsdk.Submission); submitted {
					t.Error("it was submitted")
				}
			}
		})
	}
}

func TestHostErrorsBecomeProblems(t *testing.T) {
	cases := []struct {
		err    error
		status int
		words  string
	}{
		{pluginsdk.Errorf(pluginsdk.CodeInvalid, "cron threads take no messages"), 422, "cron threads"},
		{pluginsdk.Errorf(pluginsdk.CodeNotFound, "no such thread"), 404, "no such thread"},
		{pluginsdk.Errorf(pluginsdk.CodeConflict, "key k has other content"), 409, "key k"},
		{pluginsdk.Errorf(pluginsdk.CodeDenied, "needs messages.submit"), 403, "messages.submit"},
		{pluginsdk.Errorf(pluginsdk.CodeStale, "old epoch"), 409, "old epoch"},
		{pluginsdk.Errorf(pluginsdk.CodeExhausted, "queue is full"), 429, "queue is full"},
		{pluginsdk.Errorf(pluginsdk.CodeUnavailable, "stopping"), 503, "stopping"},
		{pluginsdk.Errorf(pluginsdk.CodeDeadline, "too late"), 504, "too late"},
		{pluginsdk.Errorf(pluginsdk.CodeCancelled, "gave up"), 503, "gave up"},
		{pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "not here"), 501, "not here"},
		{pluginsdk.Errorf("from the future", "what"), 500, "failed inside the server"},
		{errors.New("pq: password wrong for harness"), 500, "failed inside the server"},
	}
	for _, c := range cases {
		f := serve(t)
		f.host.err = c.err
		got := f.send("POST", "/api/chat", `{"content":"hi"}`)
		f.isProblem(got, c.status, c.words)
		if (got.header.Get("Retry-After") != "") != (c.status == 503 || c.status == 429) {
			t.Errorf("%v: Retry-After is %q", c.err, got.header.Get("Retry-After"))
		}
		if c.status == 500 && (strings.Contains(got.raw, "password") || !strings.Contains(f.log.String(), c.err.Error())) {
			t.Errorf("%v: answered %s, logged %s", c.err, got.raw, f.log)
		}
	}
}

// One request must not take the server with it.
func TestPanicIsAProblem(t *testing.T) {
	f := serve(t)
	f.isProblem(f.send("POST", "/api/chat", `{"content":"panic"}`), 500, "its log says more")
	if !strings.Contains(f.log.String(), "at the disco") || !strings.Contains(f.log.String(), "chat.go") {
		t.Errorf("log = %s", f.log)
	}
	if got := f.send("GET", "/api/health", ""); got.status != http.StatusOK {
		t.Errorf("afterwards: %d", got.status)
	}
}

func TestThreads(t *testing.T) {
	f := serve(t)
	if got := f.send("GET", "/api/threads", ""); got.raw != `{"threads":[]}`+"\n" {
		t.Errorf("no threads: %s", got.raw)
	}
	f.host.threads = []pluginsdk.Thread{{ID: "T1", Source: "web", Kind: pluginsdk.ThreadPrimary, Unread: 3}, {ID: "T2", ReportTo: pluginsdk.Target{ThreadID: "T1"}}}
	got := f.send("GET", "/api/threads?limit=2&after=T0&source=web&sourceId=s&kind=general&kind=task&status=active&text=two+words&order=activity&unread=true", "")
	rows := got.body["threads"].([]any)
	if got.status != 200 || len(rows) != 2 || rows[0].(map[string]any)["id"] != "T1" || rows[0].(map[string]any)["kind"] != "primary" ||
		rows[0].(map[string]any)["unread"] != 3.0 || rows[1].(map[string]any)["reportTo"] != "thread:T1" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	want := []any{
		pluginsdk.ThreadQuery{Limit: 100, Order: "oldest"},
		pluginsdk.ThreadQuery{
			Limit: 2, After: "T0", Source: "web", SourceID: "s", Kinds: []pluginsdk.ThreadKind{"general", "task"},
			Statuses: []pluginsdk.ThreadStatus{"active"}, Text: "two words", Order: "activity", Unread: true,
		},
	}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
	if got := f.send("GET", "/api/threads/T2", ""); got.status != 200 || got.body["id"] != "T2" {
		t.Errorf("%d %s", got.status, got.raw)
	}
}

func TestCreateThread(t *testing.T) {
	f := serve(t)
	got := f.send("POST", "/api/threads", `{"name":"Garden","sourceId":"s","parentThreadId":"P","model":"m","effort":"high",
		"permissionMode":"plan","cwd":"/srv","instructions":"be brief","busyMode":"steer","reportTo":"discord:lobby"}`)
	if got.status != http.StatusCreated || got.body["id"] != "T-new" || got.body["name"] != "Garden" || got.body["reportTo"] != "discord:lobby" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.send("POST", "/api/threads", `{"ownDirectory":true}`)
	f.send("POST", "/api/threads", `{}`)
	want := pluginsdk.NewThread{
		Source: "web", SourceID: "s", Name: "Garden", Kind: "general", ParentThreadID: "P", Model: "m", Effort: "high",
		PermissionMode: "plan", Cwd: "/srv", Instructions: "be brief", BusyMode: "steer",
		ReportTo: pluginsdk.Target{Plugin: "discord", Place: "lobby"},
	}
	if f.host.asked[0] != want {
		t.Errorf("created %+v", f.host.asked[0])
	}
	one, two := f.host.asked[1].(pluginsdk.NewThread), f.host.asked[2].(pluginsdk.NewThread)
	if !one.OwnDirectory || two.OwnDirectory {
		t.Errorf("own directories: %v, %v", one.OwnDirectory, two.OwnDirectory)
	}
	if one.SourceID == "" || one.SourceID == two.SourceID {
		t.Errorf("source ids %q and %q: the second thread would be the first", one.SourceID, two.SourceID)
	}
}

func TestMessages(t *testing.T) {
	f := serve(t)
	f.host.threads = []pluginsdk.Thread{{ID: "T"}}
	if got := f.send("GET", "/api/threads/T/messages", ""); got.raw != `{"messages":[]}`+"\n" {
		t.Errorf("no messages: %s", got.raw)
	}
	f.host.messages = []pluginsdk.Message{{ID: 5, Role: "user", Metadata: json.RawMessage(`{"a":[1]}`)}, {ID: 6}}
	got := f.send("GET", "/api/threads/T/messages?limit=2&after=4&before=9&last=true&run=R&role=user&role=assistant&kind=text", "")
	rows := got.body["messages"].([]any)
	if got.status != 200 || len(rows) != 2 || rows[0].(map[string]any)["id"] != 5.0 || !strings.Contains(got.raw, `"metadata":{"a":[1]}`) {
		t.Errorf("%d %s", got.status, got.raw)
	}
	want := []any{
		pluginsdk.MessageQuery{ThreadID: "T", Limit: 100},
		pluginsdk.MessageQuery{
			ThreadID: "T", Limit: 2, After: 4, Before: 9, Last: true, RunID: "R",
			Roles: []pluginsdk.Role{"user", "assistant"}, Kinds: []pluginsdk.MessageKind{"text"},
		},
	}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
}

func TestRuns(t *testing.T) {
	f := serve(t)
	f.host.threads = []pluginsdk.Thread{{ID: "T"}}
	if got := f.send("GET", "/api/threads/T/runs", ""); got.raw != `{"runs":[]}`+"\n" {
		t.Errorf("no runs: %s", got.raw)
	}
	f.host.runs = []pluginsdk.Run{{
		ID: "R", State: pluginsdk.RunSucceeded,
		Events: []pluginsdk.StreamEvent{{Type: pluginsdk.StreamText, Text: "hello"}},
		Hooks:  []pluginsdk.HookCall{{Hook: pluginsdk.HookMessage, Plugin: "time", Attempt: 1, Duration: 1500 * time.Microsecond, State: pluginsdk.CallFailed, Error: "late"}, {Omitted: 7}},
		Result: &pluginsdk.InvokeResult{Text: "hello", Duration: 1500 * time.Millisecond, StructuredOutput: json.RawMessage(`{"a":1}`)},
	}}
	listed := f.send("GET", "/api/threads/T/runs?limit=1&after=Q&state=succeeded&state=failed&cause=C&newest=true&id=R&id=S", "")
	run := listed.body["runs"].([]any)[0].(map[string]any)
	if run["final"] != true || run["result"] != nil || run["events"] != nil || run["hooks"] != nil {
		t.Errorf("listed %s", listed.raw)
	}
	want := pluginsdk.RunQuery{IDs: []string{"R", "S"}, ThreadID: "T", Limit: 1, After: "Q", States: []pluginsdk.RunState{"succeeded", "failed"}, CauseRunID: "C", Newest: true}
	if !reflect.DeepEqual(f.host.asked[1], any(want)) {
		t.Errorf("asked %+v", f.host.asked[1])
	}
	caused := f.send("GET", "/api/runs?cause=C&thread=U", "")
	if want := any(pluginsdk.RunQuery{ThreadID: "U", CauseRunID: "C", Limit: 100}); len(caused.body["runs"].([]any)) != 1 || !reflect.DeepEqual(f.host.asked[2], want) {
		t.Errorf("%s, asked %+v", caused.raw, f.host.asked[2])
	}
	one := f.send("GET", "/api/runs/R", "")
	result, _ := one.body["result"].(map[string]any)
	if one.status != 200 || result["durationMs"] != 1500.0 || len(one.body["events"].([]any)) != 1 {
		t.Errorf("%d %s", one.status, one.raw)
	}
	calls := `"hooks":[{"hook":"OnMessage","plugin":"time","attempt":1,"durationMicros":1500,"state":"failed","error":"late"},` +
		`{"hook":"","plugin":"","attempt":0,"durationMicros":0,"state":"","omitted":7}]`
	if !strings.Contains(one.raw, calls) {
		t.Errorf("%s", one.raw)
	}
}

func TestPlugins(t *testing.T) {
	f := serve(t)
	f.host.plugins = []pluginsdk.PluginInfo{
		{
			Name: "discord", Version: "1", Enabled: true, Position: 3, State: pluginsdk.PluginServing,
			Checks: []pluginsdk.Check{{Name: "connection", State: pluginsdk.CheckFailing, Remedy: "set the token"}},
			Figures: pluginsdk.PluginFigures{
				HeldBack: 4, RowsDropped: 5,
				Hooks: map[pluginsdk.Hook]pluginsdk.CallFigures{"Deliver": {Calls: 2}, "OnMessage": {Calls: 1}},
				Host:  map[string]pluginsdk.CallFigures{"Messages.Submit": {Calls: 7, P99: time.Millisecond}},
			},
			Manifest: pluginsdk.Manifest{Description: "Talks to Discord", Hooks: []pluginsdk.Hook{pluginsdk.HookDeliver}},
		},
		{Name: "bare"},
	}
	got := f.send("GET", "/api/plugins", "")
	rows := got.body["plugins"].([]any)
	first := rows[0].(map[string]any)
	if got.status != 200 || len(rows) != 2 || first["name"] != "discord" || first["state"] != "serving" || first["description"] != "Talks to Discord" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	for _, part := range []string{
		`"checks":[{"name":"connection","state":"failing","remedy":"set the token"}]`, `"heldBack":4`, `"rowsDropped":5`,
		`"hooks":[{"name":"OnMessage","calls":1,`, `"host":[{"name":"Messages.Submit","calls":7,"errors":0,"timeouts":0,"p50Micros":0,"p99Micros":1000}]`,
	} {
		if !strings.Contains(got.raw, part) {
			t.Errorf("lacks %s: %s", part, got.raw)
		}
	}
	// Settings hold tokens and passwords.
	if strings.Contains(got.raw, "settings") || strings.Contains(got.raw, "null") {
		t.Errorf("%s", got.raw)
	}
}

// What is asked of one plugin must reach that plugin.
func TestOnePlugin(t *testing.T) {
	f := serve(t)
	f.host.plugins = []pluginsdk.PluginInfo{{Name: "other"}, {Name: "discord"}}
	if got := f.send("GET", "/api/plugins/discord", ""); got.status != 200 || got.body["name"] != "discord" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if got := f.send("PATCH", "/api/plugins/discord", `{"enabled":true}`); got.status != 200 || got.body["name"] != "discord" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if got := f.send("GET", "/api/plugins/discord/logs?limit=3", ""); got.status != 200 || !strings.Contains(got.raw, "of discord") {
		t.Errorf("%d %s", got.status, got.raw)
	}
	want := []any{pluginsdk.SetPluginEnabledRequest{Name: "discord", Enabled: true}, pluginsdk.ReadPluginLogRequest{Name: "discord", Limit: 3}}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
	f.isProblem(f.send("GET", "/api/plugins/none/logs", ""), 404, `"none"`)
}

func TestHealth(t *testing.T) {
	f := serve(t)
	f.host.err = errors.New("the daemon does not answer")
	got := f.send("GET", "/api/health", "")
	if got.status != 200 || got.body["status"] != "ok" || got.body["version"] != "1.2.3" {
		t.Errorf("%d %s", got.status, got.raw)
	}
}

func TestOpenAPIDescribesEveryEndpoint(t *testing.T) {
	f := serve(t)
	got := f.send("GET", "/api/openapi.json", "")
	if got.body["openapi"] != "3.1.0" || got.header.Get("Content-Type") != "application/openapi+json" {
		t.Errorf("%v %s", got.body["openapi"], got.header)
	}
	paths := got.body["paths"].(map[string]any)
	wanted := map[string][]string{
		"/api/chat":                    {"post"},
		"/api/threads":                 {"get", "post"},
		"/api/threads/{id}":            {"get", "patch"},
		"/api/threads/{id}/stop":       {"post"},
		"/api/threads/{id}/messages":   {"get"},
		"/api/threads/{id}/runs":       {"get"},
		"/api/runs":                    {"get"},
		"/api/runs/{id}":               {"get"},
		"/api/runs/{id}/cancel":        {"post"},
		"/api/runs/{id}/retry":         {"post"},
		"/api/runs/{id}/resume":        {"post"},
		"/api/threads/{id}/rights":     {"get"},
		"/api/plan":                    {"get"},
		"/api/accounts":                {"get", "post"},
		"/api/accounts/{name}":         {"patch", "delete"},
		"/api/tasks":                   {"get", "post"},
		"/api/tasks/{id}":              {"get"},
		"/api/tasks/{id}/cancel":       {"post"},
		"/api/tasks/{id}/decide":       {"post"},
		"/api/tasks/{id}/retry":        {"post"},
		"/api/workflows":               {"get", "post"},
		"/api/workflows/{id}":          {"get"},
		"/api/workflows/{id}/continue": {"post"},
		"/api/workflows/{id}/stop":     {"post"},
		"/api/workflows/{id}/abandon":  {"post"},
		"/api/approvals":               {"get"},
		"/api/approvals/{id}":          {"get"},
		"/api/approvals/{id}/decide":   {"post"},
		"/api/approvals/rules":         {"get"},
		"/api/approvals/rules/{id}":    {"delete"},
		"/api/files":                   {"get", "post"},
		"/api/files/{id}":              {"get", "delete"},
		"/api/files/{id}/content":      {"get"},
		"/api/deliveries":              {"get"},
		"/api/deliveries/{id}/retry":   {"post"},
		"/api/plugins":                 {"get", "post"},
		"/api/plugins/order":           {"post"},
		"/api/plugins/{name}/upgrade":  {"post"},
		"/api/plugins/{name}/rollback": {"post"},
		"/api/plugins/{name}/remove":   {"post"},
		"/api/plugins/{name}/grant":    {"post"},
		"/api/plugins/{name}/revoke":   {"post"},
		"/api/plugins/{name}/limits":   {"patch"},
		"/api/plugins/{name}/follow":   {"get"},
		"/api/doctor":                  {"get"},
		"/api/audit":                   {"get"},
		"/api/usage":                   {"get"},
		"/api/pause":                   {"post"},
		"/api/backups":                 {"get", "post"},
		"/api/backups/{name}":          {"get", "delete"},
		"/api/plugins/{name}":          {"get", "patch"},
		"/api/plugins/{name}/logs":     {"get"},
		"/api/plugins/{name}/settings": {"get", "patch"},
		"/api/tools":                   {"get"},
		"/api/tools/{name}":            {"post"},
		"/api/search":                  {"get"},
		"/api/health":                  {"get"},
		"/api/threads/{id}/branch":     {"post"},
		"/api/commands":                {"get"},
		"/api/context":                 {"get"},
		"/api/context/file":            {"get", "put", "delete"},
		"/api/context/history":         {"get"},
		"/api/crons":                   {"get"},
		"/api/budgets":                 {"get"},
		"/api/budgets/{name}":          {"put", "delete"},
		"/api/budgets/confirm":         {"post"},
		"/api/memory":                  {"get"},
		"/api/memory/{number}":         {"get"},
		"/api/memory/consolidate":      {"post"},
		"/api/memory/{number}/revert":  {"post"},
		"/api/crons/{name}":            {"get", "put", "patch", "delete"},
		"/api/crons/{name}/fires":      {"get"},
		"/api/crons/{name}/fire":       {"post"},
		"/api/crons/{name}/confirm":    {"post"},
		"/api/me":                      {"get"},
		"/api/tokens":                  {"get", "post"},
		"/api/tokens/{id}/revoke":      {"post"},
	}
	for path, methods := range wanted {
		described, _ := paths[path].(map[string]any)
		for _, method := range methods {
			if described[method] == nil {
				t.Errorf("%s %s is not described", method, path)
			}
		}
	}
	if len(paths) != len(wanted) {
		t.Errorf("%d paths are described", len(paths))
	}
}
