package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/web"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// served is the API on the host that plugins are tested with, as the plugin web.
func served(t *testing.T) (fixture, *plugintest.Host) {
	t.Helper()
	fake := plugintest.NewHost()
	return serveFor(t, nil, fake.As((*web.Plugin)(nil).Manifest())), fake
}

func TestDoctorIsAskedForThroughTheAPI(t *testing.T) {
	f, fake := served(t)
	fake.SetChecks(pluginsdk.Check{Name: "disk", State: pluginsdk.CheckOK}, pluginsdk.Check{Name: "paused", State: pluginsdk.CheckWarning, Remedy: "resume"})
	if got := f.send("GET", "/api/doctor", ""); got.status != http.StatusOK || got.body["ok"] != true || len(got.body["checks"].([]any)) != 2 {
		t.Errorf("%d %s", got.status, got.raw)
	}
	fake.SetChecks(pluginsdk.Check{Name: "port", State: pluginsdk.CheckFailing})
	if got := f.send("GET", "/api/doctor", ""); got.body["ok"] != false {
		t.Errorf("%d %s", got.status, got.raw)
	}
	fake.Fail("Installation.Doctor", pluginsdk.Errorf(pluginsdk.CodeDenied, "the plugin web lacks installation.read"))
	f.isProblem(f.send("GET", "/api/doctor", ""), http.StatusForbidden, "installation.read")
}

func TestTheAuditLogIsReadThroughTheAPI(t *testing.T) {
	f, fake := served(t)
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for n, action := range []string{"plugin.enable", "plugin.grant", "backup.make"} {
		fake.AddAudit(pluginsdk.AuditEntry{ID: string(rune('a' + n)), Who: "ann", Action: action, Target: "time", At: at.Add(time.Duration(n) * time.Hour)})
	}
	actions := func(query string) (shown []string) {
		got := f.send("GET", "/api/audit?"+query, "")
		if got.status != http.StatusOK {
			t.Fatalf("%s: %d %s", query, got.status, got.raw)
		}
		for _, entry := range got.body["entries"].([]any) {
			shown = append(shown, entry.(map[string]any)["action"].(string))
		}
		return shown
	}
	for query, want := range map[string]string{
		"":                           "backup.make plugin.grant plugin.enable",
		"limit=1":                    "backup.make",
		"before=c":                   "plugin.grant plugin.enable",
		"action=plugin":              "plugin.grant plugin.enable",
		"who=ben":                    "",
		"target=time&action=backup":  "backup.make",
		"since=2026-03-01T01:00:00Z": "backup.make plugin.grant",
	} {
		if got := strings.Join(actions(query), " "); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	f.isProblem(f.send("GET", "/api/audit?limit=0", ""), http.StatusUnprocessableEntity, "query.limit")
	f.isProblem(f.send("GET", "/api/audit?since=yesterday", ""), http.StatusUnprocessableEntity, "query.since")
}

func TestUsageIsReadThroughTheAPI(t *testing.T) {
	f, fake := served(t)
	fake.AddTurn(plugintest.Turn{Model: "a", At: time.Now(), Usage: pluginsdk.UsageSum{CostUSD: 1}})
	fake.AddTurn(plugintest.Turn{Model: "b", At: time.Now(), Failed: true, Usage: pluginsdk.UsageSum{CostUSD: 2}})
	got := f.send("GET", "/api/usage?by=model", "")
	var usage struct {
		Total pluginsdk.UsageSum
		Sums  []pluginsdk.UsageSum
	}
	if err := json.Unmarshal([]byte(got.raw), &usage); err != nil || usage.Total.CostUSD != 3 || usage.Total.Failed != 1 || len(usage.Sums) != 2 || usage.Sums[0].Of != "b" {
		t.Errorf("%v %s", err, got.raw)
	}
	if got := f.send("GET", "/api/usage", ""); got.status != http.StatusOK || !strings.Contains(got.raw, `"sums":[]`) {
		t.Errorf("%s", got.raw)
	}
	f.isProblem(f.send("GET", "/api/usage?by=colour", ""), http.StatusUnprocessableEntity, "query.by")
}

// A sum of nothing, where the question was wrong, is taken for the answer.
func TestAWrongQuestionAboutUsageIsRefused(t *testing.T) {
	f, fake := served(t)
	fake.AddThread(pluginsdk.Thread{ID: "idle"})
	fake.AddTurn(plugintest.Turn{ThreadID: "deleted", At: time.Now().Add(-time.Hour), Usage: pluginsdk.UsageSum{CostUSD: 1}})
	recent := url.QueryEscape(time.Now().Add(-time.Minute).Format(time.RFC3339))
	for _, path := range []string{"thread=idle", "thread=deleted", "thread=deleted&since=" + recent} {
		if got := f.send("GET", "/api/usage?"+path, ""); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, got.status, got.raw)
		}
	}
	f.isProblem(f.send("GET", "/api/usage?thread=nope", ""), http.StatusUnprocessableEntity, `there is no thread "nope"`)
	f.isProblem(f.send("GET", "/api/usage?since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z", ""), http.StatusUnprocessableEntity, "query.until")
}

func TestThePauseIsTurnedThroughTheAPI(t *testing.T) {
	f, _ := served(t)
	got := f.send("POST", "/api/pause", `{"paused":true}`)
	if got.status != http.StatusOK || got.body["was"].(map[string]any)["paused"] != false || got.body["pause"].(map[string]any)["paused"] != true {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.isProblem(f.send("POST", "/api/pause", `{}`), http.StatusUnprocessableEntity, "paused")
}

// fetch reads a backup, and says whether it came to its end.
func (f fixture) fetch(path string) (got *httptest.ResponseRecorder, whole bool) {
	got = httptest.NewRecorder()
	defer func() { whole = recover() == nil }()
	f.handler.ServeHTTP(got, httptest.NewRequest("GET", path, nil))
	return got, true
}

// A part of a backup that looks like the whole is found out when it is needed.
func TestABackupIsSentWholeOrBreaksOff(t *testing.T) {
	f, fake := served(t)
	content := bytes.Repeat([]byte("0123456789abcdef"), 3<<16) // three parts
	fake.AddBackup("a b.backup", content)
	path := "/api/backups/" + url.PathEscape("a b.backup")
	got, whole := f.fetch(path)
	if !whole || got.Code != http.StatusOK || !bytes.Equal(got.Body.Bytes(), content) || got.Header().Get("Content-Length") != "3145728" ||
		got.Header().Get("Content-Type") != "application/octet-stream" || got.Header().Get("Content-Disposition") != `attachment; filename="a b.backup"` {
		t.Errorf("%d, %d bytes, %v", got.Code, got.Body.Len(), got.Header())
	}
	fake.Fail("Installation.ReadBackup", pluginsdk.Errorf(pluginsdk.CodeNotFound, "deleted meanwhile"))
	if got, whole := f.fetch(path); whole || got.Body.Len() > 0 {
		t.Errorf("it ended as if it were whole: %d %d", got.Code, got.Body.Len())
	}
	f.isProblem(f.send("GET", "/api/backups/nothing", ""), http.StatusNotFound, "nothing")
	for _, wrong := range []string{"/api/backups/..%2Fsecrets.key", "/api/backups/%2Fetc%2Fpasswd"} {
		f.isProblem(f.send("GET", wrong, ""), http.StatusNotFound, "no backup")
	}
}

func TestBackupsAreMadeListedAndDeletedThroughTheAPI(t *testing.T) {
	f, fake := served(t)
	made := f.send("POST", "/api/backups", "")
	name, _ := made.body["name"].(string)
	if made.status != http.StatusCreated || name == "" || made.body["sha256"] == "" {
		t.Fatalf("%d %s", made.status, made.raw)
	}
	fake.AddBackup("later.backup", nil)
	got := f.send("GET", "/api/backups", "")
	if rows := got.body["backups"].([]any); len(rows) != 2 || rows[0].(map[string]any)["name"] != "later.backup" {
		t.Errorf("%s", got.raw)
	}
	recorder := httptest.NewRecorder()
	f.handler.ServeHTTP(recorder, httptest.NewRequestWithContext(pluginsdk.WithPerson(t.Context(), "ann"), "DELETE", "/api/backups/"+name, nil))
	if recorder.Code != http.StatusNoContent || recorder.Body.Len() != 0 {
		t.Errorf("%d %s", recorder.Code, recorder.Body)
	}
	if got := f.send("GET", "/api/audit?action=backup.delete", ""); !strings.Contains(got.raw, `"who":"plugin:web (ann)"`) || !strings.Contains(got.raw, name) {
		t.Errorf("%s", got.raw)
	}
	fake.Fail("Installation.Backup", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "a backup is being made already"))
	f.isProblem(f.send("POST", "/api/backups", ""), http.StatusServiceUnavailable, "already")
}

// A backup takes longer than other requests may.
func TestABackupHasItsTime(t *testing.T) {
	fake := plugintest.NewHost()
	sdk := fake.As((*web.Plugin)(nil).Manifest())
	var deadline time.Time
	sdk.Installation = timedBackup{sdk.Installation, &deadline}
	f := serveFor(t, nil, sdk)
	if got := f.send("POST", "/api/backups", ""); got.status != http.StatusCreated || time.Until(deadline) < 50*time.Minute {
		t.Errorf("%d, until %s", got.status, deadline)
	}
}

type timedBackup struct {
	pluginsdk.Installation
	deadline *time.Time
}

func (b timedBackup) Backup(ctx context.Context, request *pluginsdk.MakeBackupRequest) (*pluginsdk.MakeBackupResponse, error) {
	*b.deadline, _ = ctx.Deadline()
	return b.Installation.Backup(ctx, request)
}
