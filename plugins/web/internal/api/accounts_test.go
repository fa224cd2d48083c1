package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// planned is a host with a subscription whose five-hour limit is used up, a key that is its
// fallback, and a thread's run that is parked.
func planned(t *testing.T) (f fixture, fake *plugintest.Host, parked pluginsdk.Run) {
	t.Helper()
	f, fake = served(t)
	until := time.Date(2026, 3, 1, 17, 22, 0, 0, time.UTC)
	fake.SetAccount(pluginsdk.Account{Name: "work", Kind: pluginsdk.AccountLogin, Default: true, Plan: true, Usable: true, Fallback: "spare", Home: "/data/accounts/work",
		Windows: []pluginsdk.PlanWindow{{Account: "work", Name: "five_hour", Used: 1, Status: pluginsdk.PlanRejected, ResetsAt: until}}})
	fake.SetAccount(pluginsdk.Account{Name: "spare", Kind: pluginsdk.AccountKey, Usable: true, DailyLimitUSD: 5})
	thread, _ := f.send("POST", "/api/threads", `{}`).body["id"].(string)
	said := f.send("POST", "/api/chat", `{"content":"hello","threadId":"`+thread+`"}`)
	id, _ := said.body["runId"].(string)
	if said.status != http.StatusAccepted || id == "" {
		t.Fatalf("%d %s", said.status, said.raw)
	}
	fake.ParkRun(id, pluginsdk.Parked{Reason: "the five-hour limit is used up", Account: "work", Window: "five_hour", Until: until})
	run, err := fake.SDK().Runs.Get(t.Context(), &pluginsdk.GetRunRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return f, fake, run.Run
}

// Who looks why nothing is answered sees the windows and what waits for them.
func TestThePlanIsReadThroughTheAPI(t *testing.T) {
	f, fake, run := planned(t)
	got := f.send("GET", "/api/plan", "")
	var plan api.Plan
	if err := json.Unmarshal([]byte(got.raw), &plan); err != nil || got.status != http.StatusOK {
		t.Fatalf("%d %v %s", got.status, err, got.raw)
	}
	if len(plan.Accounts) != 3 || plan.Accounts[0].Name != "environment" || plan.Accounts[2].Windows[0].Name != "five_hour" || plan.More {
		t.Errorf("%s", got.raw)
	}
	if strings.Contains(got.raw, "/data/accounts") {
		t.Errorf("who may read is told where a login is kept: %s", got.raw)
	}
	for reason, want := range map[string]string{
		"others than its owner may enter /data/accounts/work/claude (mode 0755)":                               "not usable; GET /api/accounts, with the scope admin, says why",
		"nobody is logged in to the account work: on the daemon's machine, log in: harness account login work": "nobody is logged in to the account work: on the daemon's machine, log in: harness account login work",
	} {
		fake.SetAccount(pluginsdk.Account{Name: "broken", Kind: pluginsdk.AccountLogin, Reason: reason, Home: "/data/accounts/broken/claude"})
		got := f.send("GET", "/api/plan", "")
		var told api.Plan
		if err := json.Unmarshal([]byte(got.raw), &told); err != nil || strings.Contains(got.raw, "/data/accounts") {
			t.Errorf("who may read is told where a login is kept: %v %s", err, got.raw)
		}
		if told.Accounts[1].Reason != want {
			t.Errorf("the reason is %q, want %q", told.Accounts[1].Reason, want)
		}
	}
	if len(plan.Parked) != 1 || plan.Parked[0].ID != run.ID || !reflect.DeepEqual(plan.Parked[0].Parked, run.Parked) {
		t.Errorf("%s", got.raw)
	}
}

// A parked run goes on once, as the person says.
func TestAParkedRunIsResumedThroughTheAPI(t *testing.T) {
	for body, want := range map[string]*pluginsdk.RunOverride{
		``: {}, `{}`: {}, `{"model":"haiku","author":"Ann"}`: {Model: "haiku"}, `{"fallback":true}`: {Account: "spare"},
	} {
		f, _, run := planned(t)
		got := f.send("POST", "/api/runs/"+run.ID+"/resume", body)
		var resumed api.Run
		if err := json.Unmarshal([]byte(got.raw), &resumed); err != nil || got.status != http.StatusOK || resumed.Parked != nil || !reflect.DeepEqual(resumed.Override, want) {
			t.Errorf("%s: %d %v %s", body, got.status, err, got.raw)
		}
		f.isProblem(f.send("POST", "/api/runs/"+run.ID+"/resume", body), http.StatusConflict, "not parked")
	}
	f, fake, run := planned(t)
	fake.SetAccount(pluginsdk.Account{Name: "spare", Kind: pluginsdk.AccountKey, Usable: true})
	f.isProblem(f.send("POST", "/api/runs/"+run.ID+"/resume", `{"fallback":true}`), http.StatusUnprocessableEntity, "fallback")
	f.isProblem(f.send("POST", "/api/runs/nothing/resume", ``), http.StatusNotFound, "nothing")
}

// An account is added, changed and removed, in the name of who asks, and its key is told
// nobody.
func TestAccountsAreKeptThroughTheAPI(t *testing.T) {
	f, fake := served(t)
	const secret = "sk-ant-a-secret"
	made := f.send("POST", "/api/accounts", `{"name":"spare","kind":"key","key":"`+secret+`","author":"Ann"}`)
	if made.status != http.StatusCreated || made.body["name"] != "spare" || made.body["usable"] != true {
		t.Fatalf("%d %s", made.status, made.raw)
	}
	f.isProblem(f.send("POST", "/api/accounts", `{"name":"spare","kind":"key","key":"`+secret+`"}`), http.StatusConflict, "spare")
	login := f.send("POST", "/api/accounts", `{"name":"work","kind":"login"}`)
	if login.status != http.StatusCreated || login.body["home"] == "" {
		t.Errorf("%d %s", login.status, login.raw)
	}
	if got := f.send("PATCH", "/api/accounts/spare", `{"dailyLimitUsd":5,"key":"`+secret+`2"}`); got.status != http.StatusOK || got.body["dailyLimitUsd"] != 5.0 {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if got := f.send("PATCH", "/api/accounts/work", `{"default":true,"overage":true,"fallback":"spare"}`); got.body["default"] != true || got.body["overage"] != true || got.body["fallback"] != "spare" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.isProblem(f.send("DELETE", "/api/accounts/environment", ""), http.StatusConflict, "environment")
	if got := f.send("PATCH", "/api/accounts/work", `{"fallback":""}`); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.raw)
	}
	gone := httptest.NewRecorder()
	f.handler.ServeHTTP(gone, httptest.NewRequest("DELETE", "/api/accounts/spare?author=Ann", nil))
	if gone.Code != http.StatusNoContent {
		t.Errorf("%d %s", gone.Code, gone.Body)
	}
	list := f.send("GET", "/api/accounts", "")
	if rows := list.body["accounts"].([]any); len(rows) != 2 {
		t.Errorf("%s", list.raw)
	}
	for _, got := range []answer{made, login, list, f.send("GET", "/api/plan", ""), f.send("GET", "/api/audit", "")} {
		if strings.Contains(got.raw, secret) {
			t.Errorf("the key is in an answer: %s", got.raw)
		}
	}
	if log := f.send("GET", "/api/audit?action=account", ""); strings.Count(log.raw, `"who":"plugin:web (Ann)"`) != 2 {
		t.Errorf("%s", log.raw)
	}
	fake.Fail("Accounts.List", pluginsdk.Errorf(pluginsdk.CodeDenied, "the plugin web lacks installation.read"))
	f.isProblem(f.send("GET", "/api/accounts", ""), http.StatusForbidden, "installation.read")
	f.isProblem(f.send("GET", "/api/plan", ""), http.StatusForbidden, "installation.read")
}

// What cannot be is refused with the field that is wrong, and without the key.
func TestWrongAccountsAreRefused(t *testing.T) {
	f, _ := served(t)
	for body, field := range map[string]string{
		`{"name":"A b","kind":"login"}`:                   "name",
		`{"name":"a","kind":"environment"}`:               "kind",
		`{"name":"a","kind":"key"}`:                       "key",
		`{"name":"a","kind":"login","key":"sk-ant-oops"}`: "key",
		`{"kind":"login"}`:                                "name",
	} {
		got := f.send("POST", "/api/accounts", body)
		f.isProblem(got, http.StatusUnprocessableEntity, field)
		if strings.Contains(got.raw, "oops") {
			t.Errorf("the key is in the answer: %s", got.raw)
		}
	}
	for body, field := range map[string]string{`{"default":false}`: "default", `{"dailyLimitUsd":-1}`: "dailyLimitUsd", `{"key":""}`: "key"} {
		f.isProblem(f.send("PATCH", "/api/accounts/environment", body), http.StatusUnprocessableEntity, field)
	}
}

func TestRightsAreReadThroughTheAPI(t *testing.T) {
	f, fake, run := planned(t)
	fake.SetRights(run.ThreadID, pluginsdk.AgentRights{Version: "2.1.330", Known: true,
		Meant: []pluginsdk.AgentRule{{Behavior: pluginsdk.RuleAllow, Rule: "Bash(git log:*)"}}, Differences: []string{"the CLI allows Read, which Harness has not said"}})
	got := f.send("GET", "/api/threads/"+run.ThreadID+"/rights", "")
	if got.status != http.StatusOK || got.body["version"] != "2.1.330" || got.body["known"] != true || !strings.Contains(got.raw, `"rule":"Bash(git log:*)"`) {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.isProblem(f.send("GET", "/api/threads/nothing/rights", ""), http.StatusNotFound, "nothing")
}

// The agent's money is an operator's to decide about: who may chat lets a run go on, and
// changes no account.
func TestAccountsNeedTheScopeAdmin(t *testing.T) {
	f, _, run := planned(t)
	for scope, status := range map[pluginsdk.TokenScope]map[string]int{
		pluginsdk.ScopeRead: {"GET /api/plan": 200, "GET /api/accounts": 403, "POST /api/runs/" + run.ID + "/resume": 403, "GET /api/threads/" + run.ThreadID + "/rights": 403},
		pluginsdk.ScopeChat: {
			"GET /api/threads/" + run.ThreadID + "/rights": 200,
			"GET /api/accounts":                            403, "POST /api/accounts": 403, "PATCH /api/accounts/work": 403, "DELETE /api/accounts/work": 403,
			"PATCH /api/threads/" + run.ThreadID: 403, "POST /api/threads": 403, "POST /api/runs/" + run.ID + "/resume": 200,
		},
	} {
		of := f.of(access.Caller{Token: pluginsdk.Token{ID: "1", Name: "Ann", Scope: scope}})
		for request, want := range status {
			method, path, _ := strings.Cut(request, " ")
			body := map[string]string{
				"/api/accounts": `{"name":"x","kind":"login"}`, "/api/accounts/work": `{}`,
				"/api/threads": `{"account":"work"}`, "/api/threads/" + run.ThreadID: `{"account":""}`,
			}[path]
			if got := of.send(method, path, body); got.status != want {
				t.Errorf("%s: %s: %d %s, want %d", scope, request, got.status, got.raw, want)
			}
		}
	}
}

func TestAThreadIsGivenAnAccount(t *testing.T) {
	f, _, _ := planned(t)
	made := f.send("POST", "/api/threads", `{"account":"spare"}`)
	id, _ := made.body["id"].(string)
	if made.status != http.StatusCreated || made.body["account"] != "spare" {
		t.Fatalf("%d %s", made.status, made.raw)
	}
	if got := f.send("PATCH", "/api/threads/"+id, `{"account":""}`); got.status != http.StatusOK || got.body["account"] != nil {
		t.Errorf("%d %s", got.status, got.raw)
	}
}

// A cost that nobody is billed, and one that may be wrong, are told apart from others.
func TestUsageByAccount(t *testing.T) {
	f, fake := served(t)
	fake.AddTurn(plugintest.Turn{Account: "work", At: time.Now(), Usage: pluginsdk.UsageSum{CostUSD: 2, NotionalUSD: 2, Unsure: 1}})
	fake.AddTurn(plugintest.Turn{Account: "spare", At: time.Now(), Usage: pluginsdk.UsageSum{CostUSD: 1}})
	got := f.send("GET", "/api/usage?by=account", "")
	var usage api.UsageSums
	if err := json.Unmarshal([]byte(got.raw), &usage); err != nil || usage.Total.NotionalUSD != 2 || usage.Total.Unsure != 1 || len(usage.Sums) != 2 || usage.Sums[0].Of != "work" {
		t.Errorf("%v %s", err, got.raw)
	}
}
