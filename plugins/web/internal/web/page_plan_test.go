package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// planned puts a subscription that is used up into an instance, with a key as its fallback and
// a run that waits for its five-hour limit.
func (s *instance) planned(until time.Time) (parked pluginsdk.Event) {
	s.host.SetAccount(pluginsdk.Account{Name: "spare", Kind: pluginsdk.AccountKey, Usable: true, DailyLimitUSD: 5, SpentTodayUSD: 1.2})
	s.host.SetAccount(pluginsdk.Account{
		Name: "work", Kind: pluginsdk.AccountLogin, Default: true, Plan: true, Usable: true, Fallback: "spare", Home: "/data/accounts/work",
		Windows: []pluginsdk.PlanWindow{
			{Account: "work", Name: "five_hour", Used: 1, Status: pluginsdk.PlanRejected, ResetsAt: until},
			{Account: "work", Name: "seven_day", Used: 0.7312, Status: pluginsdk.PlanAllowed, ResetsAt: time.Now().Add(70 * time.Hour), FullAt: time.Now().Add(30 * time.Hour)},
			{Account: "work", Name: "seven_day_opus", Model: "opus", Used: 0.91, Status: pluginsdk.PlanWarning, ResetsAt: time.Now().Add(70 * time.Hour)},
			{Account: "work", Name: "seven_day_sonnet", Used: 0.5, Status: pluginsdk.PlanAllowed, ResetsAt: time.Now().Add(-time.Minute)},
		},
	})
	s.host.AddMessage(pluginsdk.Message{ThreadID: "T", RunID: "P", Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Content: "Deploy it", Author: "Ann"})
	s.host.AddRun(pluginsdk.Run{ID: "P", ThreadID: "T", MessageID: 1, Kind: pluginsdk.RunMessage, State: pluginsdk.RunQueued, QueuedAt: time.Now(), Attempt: 1})
	return s.host.ParkRun("P", pluginsdk.Parked{
		Reason: "The plan's five-hour limit is used up (account work).", Account: "work", Window: "five_hour", Until: until, Since: time.Now(),
	})
}

func (s *instance) run(id string) pluginsdk.Run {
	s.Helper()
	answer, err := s.host.SDK().Runs.Get(s.Context(), &pluginsdk.GetRunRequest{ID: id})
	if err != nil {
		s.Fatal(err)
	}
	return answer.Run
}

// Who is not answered finds out why, and when it goes on, wherever they look.
func TestPagesSayWhatARunWaitsFor(t *testing.T) {
	s := demanding(t)
	until := time.Now().Add(2 * time.Hour)
	s.planned(until)
	s.host.SetAccount(pluginsdk.Account{Name: hostile, Kind: pluginsdk.AccountLogin, Reason: hostile})
	ann := s.logIn("Ann", pluginsdk.ScopeAdmin)
	at := until.UTC().Format("15:04 MST")
	ann.reads("/plan", []string{
		"Five-hour limit", "used up", "Weekly limit</h3>", "73 % used", "at this pace", "Weekly limit for Opus", "91 % used",
		"Weekly limit for Sonnet", "nothing has been used since", "The plan&#39;s five-hour limit is used up (account work).", at,
		`action="/runs/P/resume"`, "Go now", "Go now with another model", "Use the API key spare (limit $5.00 a day)", `action="/runs/P/cancel"`,
		`data-live="plan:window pipeline:parked`, `href="/chat/T"`, `href="/accounts"`,
	}, hostile)
	waits := "Waits for the plan (five-hour limit), goes on at"
	ann.reads("/chat/T", []string{waits, at, `data-phase="parked"`, "Go now", `action="/runs/P/resume"`, `action="/runs/P/cancel"`})
	ann.reads("/chat/T/news?after=0", []string{waits, "Go now"})
	ann.reads("/runs", []string{"waits for plan", waits, at, "pipeline:parked"})
	ann.reads("/runs/P", []string{"waits for plan", waits, at, "Go now with another model", "Use the API key spare"}, "Tried again")
	overview := ann.reads("/", []string{"Nothing runs.", "<h2>Waiting for a plan or a budget</h2>", waits, "Go now", "pipeline:parked"})
	if running := strings.Index(overview, `id="parked"`); running < 0 || strings.Contains(overview[:running], waits) || !strings.Contains(overview, `<span class="figure">0</span>`) {
		t.Errorf("a run that waits is shown among those at work: %s", overview)
	}
	eve := s.logIn("Eve", pluginsdk.ScopeChat)
	for _, path := range []string{"/plan", "/runs/P"} {
		eve.reads(path, []string{"Go now"}, "another model", "Use the API key")
	}
	ben := s.logIn("Ben", pluginsdk.ScopeRead)
	for _, path := range []string{"/plan", "/chat/T", "/runs", "/runs/P", "/"} {
		ben.reads(path, []string{at}, "Go now", `/resume"`, `href="/accounts"`)
	}
}

// A person has a run go on: as it is, with another model, with the key.
func TestAParkedRunGoesOnFromAPage(t *testing.T) {
	for _, way := range []struct {
		fields []string
		want   pluginsdk.RunOverride
	}{
		{nil, pluginsdk.RunOverride{}},
		{[]string{"model", " haiku "}, pluginsdk.RunOverride{Model: "haiku"}},
		{[]string{"fallback", "true"}, pluginsdk.RunOverride{Account: "spare"}},
	} {
		s := demanding(t)
		s.planned(time.Now().Add(time.Hour))
		if way.fields != nil {
			eve := s.logIn("Eve", pluginsdk.ScopeChat)
			s.expect("what is an approver's", eve.post("/runs/P/resume", way.fields...), http.StatusForbidden, "needs a token with the scope approve")
		}
		ann := s.logIn("Ann", pluginsdk.ScopeApprove)
		page := ann.leads("go now", ann.post("/runs/P/resume", append(way.fields, "back", "/plan")...), "/plan")
		run := s.run("P")
		if run.Parked != nil || run.Override == nil || *run.Override != way.want {
			t.Errorf("%v: %+v %+v", way.fields, run.Parked, run.Override)
		}
		if !strings.Contains(page, "The message is being answered now.") || strings.Contains(page, "Waiting for a plan") {
			t.Errorf("%v: %s", way.fields, page)
		}
		s.expect("again", ann.post("/runs/P/resume", "back", "/plan"), http.StatusConflict, "not parked")
	}
	s := demanding(t)
	s.planned(time.Now().Add(time.Hour))
	ann := s.logIn("Ann", pluginsdk.ScopeChat)
	ann.leads("cancel", ann.post("/runs/P/cancel", "back", "/plan"), "/plan")
	if run := s.run("P"); run.State != pluginsdk.RunCancelled {
		t.Errorf("the run is %s", run.State)
	}
	s.expect("who may read", s.logIn("Ben", pluginsdk.ScopeRead).post("/runs/P/resume"), http.StatusForbidden)
}

// What a turn has shown so far is not taken for work under way once its run waits.
func TestAParkedRunIsNotShownAtWork(t *testing.T) {
	s := demanding(t)
	s.host.AddRun(pluginsdk.Run{ID: "P", ThreadID: "T", MessageID: 1, Kind: pluginsdk.RunMessage, State: pluginsdk.RunRunning, QueuedAt: time.Now(), StartedAt: time.Now(), Attempt: 1})
	ann := s.logIn("Ann", pluginsdk.ScopeChat)
	s.heard(1, pluginsdk.EventPipelineStart, pluginsdk.RunRef{ThreadID: "T", RunID: "P", MessageID: 1})
	s.heard(2, pluginsdk.EventPipelineStream, pluginsdk.StreamPayload{ThreadID: "T", RunID: "P", Event: pluginsdk.StreamEvent{Type: pluginsdk.StreamText, Text: "I begin"}})
	ann.reads("/chat/T/turn", []string{"I begin"})
	s.heard(3, pluginsdk.EventPipelineParked, pluginsdk.ParkedPayload{ThreadID: "T", RunID: "P"})
	ann.reads("/chat/T/turn", []string{`data-run=""`}, "I begin")
}

func TestAPageWithoutAPlanSaysSo(t *testing.T) {
	s := demanding(t)
	ann := s.logIn("Ann", pluginsdk.ScopeRead)
	ann.reads("/plan", []string{"No plan has been seen yet"}, "Accounts</a>")
	s.host.Fail("Accounts.List", pluginsdk.Errorf(pluginsdk.CodeDenied, "the plugin web lacks installation.read"))
	ann.reads("/plan", []string{"You may not see this", "installation.read"})
}

// The key that somebody types is kept, and no page shows it again, also when something is
// wrong with the rest.
func TestAccountsAreKeptOnTheirPage(t *testing.T) {
	s := demanding(t)
	ann := s.logIn("Ann", pluginsdk.ScopeAdmin)
	const secret = "sk-ant-secret"
	for _, wrong := range [][]string{
		{"name", "Spare Key", "key", secret}, {"name", "spare", "key", ""}, {"name", "spare", "key", secret, "limit", "much"}, {"name", "environment", "key", secret},
	} {
		page := s.expect("wrong", ann.post("/accounts", wrong...), 422, "field-wrong")
		if strings.Contains(page.body, secret) {
			t.Errorf("the key is shown: %s", page.body)
		}
	}
	page := ann.leads("add", ann.post("/accounts", "name", "spare", "key", secret, "limit", "5"), "/accounts")
	if !strings.Contains(page, "The API key spare is added.") || !strings.Contains(page, "$0.00 of $5.00 used today") || strings.Contains(page, secret) || !strings.Contains(page, "harness account add NAME") {
		t.Errorf("%s", page)
	}
	s.host.SetAccount(pluginsdk.Account{Name: "work", Kind: pluginsdk.AccountLogin, Plan: true, Usable: true, Home: "/data/accounts/work"})
	page = ann.leads("change", ann.post("/accounts/work", "plan", "true", "overage", "true", "fallback", "spare"), "/accounts")
	if !strings.Contains(page, "fallback: spare") || !strings.Contains(page, "Anthropic may bill you when the plan is used up") {
		t.Errorf("%s", page)
	}
	s.expect("a key that is named", ann.post("/accounts/spare/remove"), 422, "another account names it")
	s.expect("too high a limit", ann.post("/accounts", "name", "dear", "key", secret, "limit", "200000"), 422, "at most 100000 USD")
	if page := ann.reads("/accounts", nil); strings.Contains(page, "<strong>dear</strong>") {
		t.Error("a key is added although its limit is refused")
	}
	s.expect("too high a limit", ann.post("/accounts/spare", "limit", "200000"), 422, "at most 100000 USD")
	// A fallback that has lost its limit stays as it is: to save the rest does not name it anew.
	ann.leads("no limit", ann.post("/accounts/spare", "limit", "0"), "/accounts")
	page = ann.leads("the rest", ann.post("/accounts/work", "plan", "true", "fallback", "spare"), "/accounts")
	if !strings.Contains(page, "fallback: spare") || strings.Contains(page, "is allowed") {
		t.Errorf("%s", page)
	}
	ann.leads("nothing", ann.post("/accounts/work", "plan", "true", "fallback", "spare"), "/accounts")
	s.expect("a limit that is none", ann.post("/accounts/spare", "limit", "-3"), 422, "an amount in USD")
	page = ann.leads("change", ann.post("/accounts/work", "plan", "true", "fallback", ""), "/accounts")
	if strings.Contains(page, "fallback: spare") || strings.Contains(page, "Anthropic may bill you when the plan is used up") {
		t.Errorf("%s", page)
	}
	page = ann.leads("default", ann.post("/accounts/work/default"), "/accounts")
	if !strings.Contains(page, "work is the default account now.") {
		t.Errorf("%s", page)
	}
	page = ann.leads("remove", ann.post("/accounts/spare/remove"), "/accounts")
	if strings.Contains(page, "<strong>spare</strong>") {
		t.Errorf("%s", page)
	}
	ben := s.logIn("Ben", pluginsdk.ScopeApprove)
	s.expect("who may not", ben.visit("/accounts"), http.StatusForbidden)
	s.expect("who may not", ben.post("/accounts", "name", "x", "key", "y"), http.StatusForbidden)
}

// The account of a thread is chosen from those that there are, by who may.
func TestAThreadIsGivenAnAccountInItsSettings(t *testing.T) {
	s := demanding(t)
	s.planned(time.Now().Add(time.Hour))
	ann := s.logIn("Ann", pluginsdk.ScopeAdmin)
	ann.reads("/chat/T/settings", []string{`name="account"`, `<option value="" selected>The default one`, "work (the default)", `value="spare"`, `href="/chat/T/rights"`})
	ann.leads("save", ann.post("/chat/T/settings", "account", "spare"), "/chat/T")
	if got := s.thread("T").Account; got != "spare" {
		t.Errorf("the account is %q", got)
	}
	ann.reads("/chat/T", []string{"account spare"})
	s.logIn("Ben", pluginsdk.ScopeChat).reads("/chat/T/settings", nil, `name="account"`)
}

func TestThePageOfRightsComparesThem(t *testing.T) {
	s := demanding(t)
	if got := s.logIn("Ben", pluginsdk.ScopeRead).visit("/chat/T/rights"); got.status != 403 {
		t.Errorf("who may only read starts the agent's program: %d", got.status)
	}
	ann := s.logIn("Ann", pluginsdk.ScopeChat)
	ann.reads("/chat/T/rights", []string{"cannot tell its rules", "0.0.0"}, "The rules that it says it has</h2>")
	s.host.SetRights("T", pluginsdk.AgentRights{
		Version: "2.1.330", Known: true, Differences: []string{"it allows " + hostile},
		Meant: []pluginsdk.AgentRule{{Behavior: pluginsdk.RuleDeny, Rule: "Read(/etc/**)", Source: "harness"}},
		Said:  []pluginsdk.AgentRule{{Behavior: pluginsdk.RuleAllow, Rule: hostile, Source: "userSettings"}},
		Hooks: []pluginsdk.AgentHook{{Event: "PreToolUse", Command: "check.sh", Source: "managed"}},
	})
	ann.reads("/chat/T/rights", []string{"has other rules", "Denied", "Read(/etc/**)", "userSettings", "check.sh", "The rules that it says it has</h2>"}, hostile)
	s.host.Fail("Accounts.Rights", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the agent does not answer"))
	ann.reads("/chat/T/rights", []string{"This cannot be shown: the agent does not answer"})
}

// Nobody is billed what a plan has paid: sums of money say which is which.
func TestUsageTellsPlansFromBills(t *testing.T) {
	s := demanding(t)
	s.host.AddTurn(plugintest.Turn{Account: "work", Model: "opus", At: time.Now(), Usage: pluginsdk.UsageSum{CostUSD: 2, NotionalUSD: 2, Unsure: 1}})
	s.host.AddTurn(plugintest.Turn{Account: "spare", Model: "opus", At: time.Now(), Usage: pluginsdk.UsageSum{CostUSD: 1}})
	ann := s.logIn("Ann", pluginsdk.ScopeRead)
	ann.reads("/usage", []string{"Billed", "≈ $1.00", "On plans", "≈ $2.00", "By account", "work", "Nobody is billed", "The cost of 1 turn may be wrong: it was cut off before its end", "Today so far: ≈ $3.00, $2.00 on a plan.", "This month so far: "})
	ann.reads("/usage?days=1", []string{"24 hours", time.Now().UTC().Add(-2 * time.Hour).Format("15:00"), "On plans", "≈ $2.00"}, "By scheduled job", "By task")
	s.host.AddTurn(plugintest.Turn{Cron: "morning-digest", TaskID: "K", At: time.Now(), Usage: pluginsdk.UsageSum{}})
	ann.reads("/usage", []string{"By scheduled job", "morning-digest", "By task", `href="/tasks/K"`})
	ann.reads("/", []string{"Cost today, $2.00 on plans", "≈ $3.00"})
	s.host.AddRun(pluginsdk.Run{
		ID: "D", ThreadID: "T", State: pluginsdk.RunSucceeded, CostUSD: 0.5, NotionalUSD: 0.5, CostUnsure: true, Account: "work", Override: &pluginsdk.RunOverride{Model: "haiku"},
		Result: &pluginsdk.InvokeResult{Notional: true, CostUnsure: true, Models: []pluginsdk.ModelUsage{{Model: "claude-haiku", CostUSD: 0.1}}},
	})
	ann.reads("/runs/D", []string{"≈ $0.50", "nobody is billed this", "work", "the model haiku", "claude-haiku"})
	s.host.AddRun(pluginsdk.Run{ID: "E", ThreadID: "T", State: pluginsdk.RunSucceeded, CostUSD: 1.5, NotionalUSD: 0.5, Result: &pluginsdk.InvokeResult{}})
	s.host.AddRun(pluginsdk.Run{ID: "F", ThreadID: "T", State: pluginsdk.RunSucceeded, CostUSD: 0.7, Result: &pluginsdk.InvokeResult{}})
	ann.reads("/runs/E", []string{"$1.50", "$0.50 of it on a plan: nobody is billed that part"}, "≈", "nobody is billed this")
	ann.reads("/runs", []string{"≈ $0.50 on a plan", "$1.50, $0.50 on a plan", "$0.70<"})
	s.host.AddTurn(plugintest.Turn{Account: "spare", Model: "claude-unheard-1", At: time.Now(), Unpriced: true, Usage: pluginsdk.UsageSum{CostUSD: 1, Unsure: 1}})
	ann.reads("/usage", []string{"The cost of 2 turns may be wrong: 1 is of a model whose price is not known (claude-unheard-1); the other was cut off"})
}
