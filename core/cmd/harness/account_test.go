package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// fakeLogin makes a CLI whose login leaves credentials where it is told to keep them, and fails
// when it was given somebody else's.
func fakeLogin(t *testing.T) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "claude")
	script := `#!/bin/sh
[ "$1 $2" = "auth login" ] || exit 7
[ -z "$ANTHROPIC_API_KEY$CLAUDE_CODE_OAUTH_TOKEN$CLAUDECODE" ] || exit 8
[ "$(pwd)" = "$CLAUDE_CONFIG_DIR" ] || exit 9
read code
[ -n "$code" ] || exit 0
echo '{"claudeAiOauth":{"accessToken":"'$code'"}}' > "$CLAUDE_CONFIG_DIR/.credentials.json"
echo "Login successful."
`
	if err := os.WriteFile(binary, []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("HARNESS_CLAUDE", binary)
	for _, name := range []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDECODE"} {
		t.Setenv(name, "of-the-environment")
	}
}

// An operator adds a login and a key, looks at them, and takes them back, with the daemon down;
// no key and no login is shown.
func TestAccountsOfTheCommandLine(t *testing.T) {
	data := withPlugins(t)
	fakeLogin(t)
	home := filepath.Join(data, "accounts", "work", "claude")
	added := harness(t, "sk-ant-oat01-canary\n", "account", "add", "work")
	added.want(t, 0, "The account work is added.", "")
	added.want(t, 0, "Login successful.\nwork is logged in. The login is in "+home+", and in no backup.", "")
	if info, err := os.Stat(home); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	harness(t, "sk-canary\n", "account", "add", "spare", "--key").want(t, 0, "secrets.key. Keep a copy", "")
	harness(t, "", "account", "add", "other", "--key").want(t, 1, "", "API key: no value was given")
	harness(t, "", "account", "add", "idle").want(t, 1, "", "the account idle is added, but the login did not succeed: nobody is logged in")
	harness(t, "sk-ant-oat01-canary\n", "account", "login", "idle").want(t, 0, "idle is logged in.", "")
	for line, want := range map[string]string{
		"add work":                     "there is an account work already",
		"add spare --key --login":      "none of the others can be",
		"add Work":                     "An account name has",
		"login spare":                  "is an API key",
		"login nobody":                 "there are: environment, idle, spare, work",
		"use nobody":                   "there are: environment, idle, spare, work",
		"set work":                     "nothing is to be changed",
		"set work --overage perhaps":   "it takes on or off",
		"set work --fallback idle":     "logins are not taken in turn",
		"set work --fallback spare":    "harness account set spare --limit",
		"set spare --overage on":       "no plan",
		"remove environment":           "cannot be removed",
		"remove nobody":                "harness account list",
		"set work --limit 3":           "only an API key",
		"set spare --limit abc":        "it takes an amount such as 5.00",
		"set spare --limit -3":         "--limit: must be an amount",
		"login work --server http://x": "on the daemon's own machine",
	} {
		if got := harness(t, "sk-canary\n", append([]string{"account"}, strings.Fields(line)...)...); got.code == 0 || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v; want %q", line, got, want)
		}
	}
	harness(t, "", "account", "set", "spare", "--limit", "5").want(t, 0, "spare: as a fallback it may cost $5.00 a day", "")
	harness(t, "", "account", "set", "work", "--fallback", "spare", "--overage", "on").want(t, 0, "work: Anthropic may bill you when the plan is used up; fallback key: spare", "")
	harness(t, "", "account", "use", "work").want(t, 0, "work is the default from the next turn on.", "")
	harness(t, "", "account", "use", "default").want(t, 1, "", "with --thread")
	listed := harness(t, "", "account", "list")
	rows := strings.Split(strings.TrimSpace(listed.out), "\n")
	for n, want := range []string{
		"NAME KIND DEFAULT PLAN OVERAGE FALLBACK STATE",
		"environment environment - - off - usable",
		"idle login - - off - usable",
		"spare key - $0.00 of $5.00 today as fallback - - usable",
		"work login yes - allowed spare usable",
	} {
		if len(rows) != 5 || strings.Join(strings.Fields(rows[n]), " ") != want {
			t.Errorf("line %d of\n%s\nwant %s", n, listed.out, want)
		}
	}
	if err := os.Remove(filepath.Join(home, ".credentials.json")); err != nil {
		t.Fatal(err)
	}
	harness(t, "", "account", "list").want(t, 0, "not usable: nobody is logged in to the account work: on the daemon's machine, log in: harness account login work", "")
	doctor := harness(t, "", "doctor", "--port", freePort(t))
	doctor.want(t, exitFailed, "✗ account work: login, the default, Anthropic may bill you when the plan is used up; not usable: nobody is logged in", "")
	doctor.want(t, exitFailed, "✓ account spare: key, usable", "")
	harness(t, "", "account", "remove", "work").want(t, 1, "", "harness account use NAME")
	harness(t, "", "account", "use", "environment").want(t, 0, "environment is the default", "")
	harness(t, "", "account", "remove", "work").want(t, 0, "Its login is still in "+home+" on the daemon's machine", "")
	if _, err := os.Stat(home); err != nil {
		t.Errorf("the login's directory is gone: %v", err)
	}
	var all []pluginsdk.Account
	asJSON := harness(t, "", "account", "list", "--json")
	if err := json.Unmarshal([]byte(asJSON.out), &all); err != nil || len(all) != 3 || all[2].Name != "spare" || all[2].DailyLimitUSD != 5 {
		t.Errorf("%+v, %v", all, err)
	}
	harness(t, "sk-canary\n", "account", "add", "third", "--key").want(t, 0, "is added", "")
	if err := os.Remove(filepath.Join(data, "secrets.key")); err != nil {
		t.Fatal(err)
	}
	harness(t, "sk-canary\n", "account", "add", "fourth", "--key").want(t, 1, "", "harness account set spare --key")
	harness(t, "sk-canary\n", "account", "set", "spare", "--key").want(t, 0, "The key of third is of no use: ", "")
	log := harness(t, "", "audit")
	for _, action := range []string{"account.add", "account.update", "account.remove"} {
		log.want(t, 0, action, "")
	}
	for _, got := range []result{added, listed, doctor, asJSON, log} {
		if strings.Contains(got.out+got.err, "canary") {
			t.Errorf("a secret is shown: %+v", got)
		}
	}
}

// Who logs in may be somebody else, with a plan of their own: what the one before has used up is
// no reason to wait.
func TestALoginHasAPlanOfItsOwn(t *testing.T) {
	data := withPlugins(t)
	fakeLogin(t)
	harness(t, "sk-ant-oat01-canary\n", "account", "add", "work").want(t, 0, "The account work is added.", "")
	windows := func(seen ...ledger.PlanState) int {
		t.Helper()
		database, err := store.Open(t.Context(), store.Config{Dir: data})
		if err != nil {
			t.Fatal(err)
		}
		for _, state := range seen {
			if _, err := database.SavePlanWindow(t.Context(), state, true); err != nil {
				t.Error(err)
			}
		}
		known, err := database.PlanWindows(t.Context())
		if err = errors.Join(err, database.Close()); err != nil {
			t.Fatal(err)
		}
		return len(known)
	}
	if n := windows(ledger.PlanState{PlanWindow: pluginsdk.PlanWindow{Account: "work", Name: "five_hour", Used: 1, SeenAt: time.Now()}}); n != 1 {
		t.Fatalf("%d windows", n)
	}
	harness(t, "sk-ant-oat01-another\n", "account", "login", "work").want(t, 0, "work is logged in.", "")
	if n := windows(); n != 0 {
		t.Errorf("%d windows of who was logged in before", n)
	}
}

// What is left of a plan, and what waits for it, is asked also while the daemon is down.
func TestThePlanOfTheCommandLine(t *testing.T) {
	data := withPlugins(t)
	harness(t, "", "plan").want(t, 0, "No plan was seen yet", "")
	database, err := store.Open(t.Context(), store.Config{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	state := ledger.PlanState{PlanWindow: pluginsdk.PlanWindow{Account: pluginsdk.EnvironmentAccount, SeenAt: time.Now()}, FirstSeen: time.Now()}
	state.Name, state.Used, state.Status, state.ResetsAt = "five_hour", 1, pluginsdk.PlanRejected, time.Now().Add(2*time.Hour)
	if _, err := database.SavePlanWindow(t.Context(), state, true); err != nil {
		t.Fatal(err)
	}
	if err := database.Close(); err != nil {
		t.Fatal(err)
	}
	got := harness(t, "", "plan")
	got.want(t, 0, "environment (default)\n  five-hour limit  ████████████████████  100 % (used up)  resets ", "")
	got.want(t, 0, "(in 2 h 0 min)", "")
	got.want(t, 0, "Nothing is parked.", "")
	var told struct {
		Accounts []pluginsdk.Account
		Parked   []any
	}
	if err := json.Unmarshal([]byte(harness(t, "", "plan", "--json").out), &told); err != nil || len(told.Accounts) != 1 || len(told.Accounts[0].Windows) != 1 || told.Parked == nil {
		t.Errorf("%+v, %v", told, err)
	}
	harness(t, "", "doctor", "--port", freePort(t)).want(t, exitFailed, "! account environment: environment, the default; the five-hour limit is used up until ", "")
	harness(t, "", "plan", "go", "x", "--model", "haiku", "--fallback").want(t, 1, "", "give one of them")
}

// Through the API of a daemon elsewhere the same is done, with the key in the body alone: an
// address is in logs.
func TestAccountsAndPlansOfADaemonElsewhere(t *testing.T) {
	isolate(t)
	var asked []string
	api := http.NewServeMux()
	answer := func(pattern, body string) {
		api.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			sent, _ := io.ReadAll(r.Body)
			asked = append(asked, r.Method+" "+r.URL.String()+" "+string(sent))
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		})
	}
	work := `{"name":"work","kind":"login","default":true,"usable":true,"overage":true,"home":"/srv/harness/accounts/work/claude"}`
	answer("GET /api/accounts", `{"accounts":[`+work+`]}`)
	answer("POST /api/accounts", work)
	answer("PATCH /api/accounts/{name}", work)
	answer("DELETE /api/accounts/{name}", ``)
	answer("PATCH /api/threads/{id}", `{"id":"T","account":"work"}`)
	answer("PATCH /api/threads/U", `{"id":"U"}`)
	answer("GET /api/plan", `{"accounts":[],"parked":[{"id":"R","threadId":"T","parked":{"reason":"Used up.","account":"work"}}]}`)
	answer("GET /api/threads", `{"threads":[]}`)
	answer("POST /api/runs/{id}/resume", `{"id":"R"}`)
	answer("GET /api/threads/{id}/rights", `{"version":"2.1.330","known":true,"differences":["One."]}`)
	answer("GET /api/usage", `{"total":{"turns":3,"costUsd":1,"unsure":2},"sums":[]}`)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	for _, c := range []struct {
		line, in  string
		code      int
		out, asks string
	}{
		{"account list", "", 0, "work", "GET /api/accounts "},
		{"account add work", "", 0, "On the daemon's machine: harness account login work", `POST /api/accounts {"kind":"login","name":"work"}`},
		{"account add spare --key", "sk-canary\n", 0, "is added", `POST /api/accounts {"key":"sk-canary","kind":"key","name":"spare"}`},
		{"account use work", "", 0, "work is the default", `PATCH /api/accounts/work {"default":true}`},
		{"account use work --thread T", "", 0, "The thread T uses the account work", `PATCH /api/threads/T {"account":"work"}`},
		{"account use default --thread U", "", 0, "The thread U has no account of its own: it uses the default one from its next turn on.\n", `PATCH /api/threads/U {"account":""}`},
		{"account set work --overage on --fallback none", "", 0, "may bill you", `PATCH /api/accounts/work {"overage":true,"fallback":""}`},
		{"account remove work", "", 0, "/srv/harness/accounts/work/claude on the daemon's machine", "DELETE /api/accounts/work "},
		{"thread set T account=default", "", 0, "work", `PATCH /api/threads/T {"account":""}`},
		{"plan", "", 0, "Parked (1);", "GET /api/plan "},
		{"plan go R --model haiku", "", 0, "The run R goes on now with the model haiku.", `POST /api/runs/R/resume {"fallback":false,"model":"haiku"}`},
		{"plan go R --fallback", "", 0, "with the fallback of its account", `POST /api/runs/R/resume {"fallback":true}`},
		{"agent rights T", "", exitFailed, "≠ One.", "GET /api/threads/T/rights "},
		{"usage --by account", "", 0, "≈ $1.00", "GET /api/usage?by=account "},
	} {
		asked = nil
		got := harness(t, c.in, append(strings.Fields(c.line), "--server", server.URL)...)
		if got.code != c.code || !strings.Contains(got.out, c.out) || !slices.Contains(asked, c.asks) {
			t.Errorf("%s: %+v, asked %q; want %d %q %q", c.line, got, asked, c.code, c.out, c.asks)
		}
		if strings.Contains(got.out+got.err, "canary") {
			t.Errorf("%s: the key is shown", c.line)
		}
	}
}

// What is asked for is asked of the daemon, and what it says is printed as a table, as JSON or as CSV.
func TestUsageOfADaemonElsewhere(t *testing.T) {
	isolate(t)
	var asked url.Values
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query()
		_, _ = io.WriteString(w, `{"total":{"turns":3,"costUsd":1.5,"notionalUsd":1},"sums":[{"of":"digest","turns":2,"costUsd":1,"notionalUsd":1,"duration":2500000000,`+
			`"usage":{"inputTokens":7,"outputTokens":5}},{"of":"=SUM(A1)","turns":1,"costUsd":0.5},{"turns":0}]}`)
	}))
	t.Cleanup(server.Close)
	usage := func(line string) result {
		return harness(t, "", append([]string{"usage", "--server", server.URL}, strings.Fields(line)...)...)
	}
	usage("--by cron").want(t, 0, "CRON      TURNS  FAILED  IN  OUT  COST\ndigest    2      0       7   5    $1.00 notional\n", "")
	usage("--by cron").want(t, 0, "$1.50, $1.00 of it notional\n\nNotional: ", "")
	usage("--by cron").want(t, 0, "This month (UTC) so far: $1.50, $1.00 of it notional", "")
	if month, err := time.Parse(time.RFC3339, asked.Get("since")); err != nil || month.Day() != 1 || asked.Has("by") {
		t.Errorf("asked of this month %s; %v", asked.Encode(), err)
	}
	usage("--by cron --json").want(t, 0, `"of": "digest"`, "")
	usage("--by cron --csv").want(t, 0, "cron,turns,failed,unsure,duration_seconds,input_tokens,cache_read_tokens,cache_write_tokens,output_tokens,cost_usd,notional_usd,name\n"+
		"digest,2,0,0,2.5,7,0,0,5,1,1,\n'=SUM(A1),1,0,0,0,0,0,0,0,0.5,0,\n,0,0,", "")
	usage("--csv").want(t, 0, "\n,3,0,0,0,0,0,0,0,1.5,1,\n", "")
	if usage("--by hour --since 2026-01-02 --until 2026-01-03T04:05:06+01:00 --thread T --limit 7").want(t, 0, "", ""); asked.Encode() !=
		"by=hour&limit=7&since=2026-01-02T00%3A00%3A00Z&thread=T&until=2026-01-03T03%3A05%3A06Z" {
		t.Errorf("asked %s", asked.Encode())
	}
	usage("--since 7d").want(t, 0, "", "")
	if since, err := time.Parse(time.RFC3339, asked.Get("since")); err != nil || time.Since(since.Add(7*24*time.Hour)).Abs() > time.Minute {
		t.Errorf("7 days ago is %s; %v", since, err)
	}
	usage("--by cron --wide").want(t, 0, "CRON      TURNS  FAILED  IN  OUT  CACHE READ  CACHE WRITE  TIME  COST\ndigest    2      0       7   5    0           0            3s    $1.00 notional\n", "")
	for line, want := range map[string]string{
		"--since soon":                          `--since: "soon" is not accepted`,
		"--since 7x":                            `--since: "7x" is not accepted`,
		"--limit 0":                             "--limit: it is a number from 1 to 1000",
		"--by foo":                              `--by: "foo" is not accepted; it takes hour, day, model, thread, purpose, task, plugin, cron, account`,
		"--by threads":                          "did you mean thread?",
		"--json --csv":                          "--json and --csv: one of them, not both",
		"--since 2026-02-01 --until 2026-01-01": "--until: 2026-01-01T00:00:00Z is not after --since, 2026-02-01T00:00:00Z",
		"--since 1h --until 1d":                 "is not after --since",
	} {
		usage(line).want(t, exitUsage, "", want)
	}
}

// A shell does not have the environment of the daemon. What the daemon can authenticate with is
// asked of it when it is up; else it is said whose environment was looked at.
func TestTheEnvironmentIsThatOfTheDaemon(t *testing.T) {
	data := withPlugins(t)
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	answers := http.StatusOK
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answers)
		_, _ = io.WriteString(w, `{"accounts":[{"name":"environment","kind":"environment","default":true,"usable":true}],"parked":[],"detail":"no token"}`)
	}))
	t.Cleanup(api.Close)
	t.Setenv("PORT", api.URL[strings.LastIndex(api.URL, ":")+1:])
	lines := []string{"account list", "account use environment", "plan --json"}
	ask := func(when, want string, not string) {
		t.Helper()
		for _, line := range lines {
			got := harness(t, "", strings.Fields(line)...)
			if got.code != 0 || !strings.Contains(got.out, want) || strings.Contains(got.out, not) {
				t.Errorf("%s, harness %s: %+v; want %q, not %q", when, line, got, want, not)
			}
		}
	}
	ask("while the daemon is down", "this shell's environment has no credentials", "the daemon's environment has no")
	lock, err := os.OpenFile(filepath.Join(data, "harness.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	ask("while it is up", "environment", "credentials")
	answers = http.StatusUnauthorized
	ask("while it demands a token", "the daemon could not be asked what its own has", "the daemon's environment has no")
}
