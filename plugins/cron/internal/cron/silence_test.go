package cron

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/plugins/internal/schedules"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestMain(m *testing.M) {
	run.Reap()
	os.Exit(m.Run())
}

// told are the notifications in the thread of a job of its own.
func (w *world) told(job pluginsdk.CronJob) (all []string) {
	w.Helper()
	threadID, err := w.plugin.thread(w.Context(), job)
	if err != nil {
		w.Fatal(err)
	}
	for _, message := range w.host.Messages(threadID) {
		if message.Kind == pluginsdk.MessageNotification {
			all = append(all, message.Content)
		}
	}
	return all
}

// as gives a command of somebody with a scope.
func (w *world) as(scope pluginsdk.TokenScope, body string) string {
	w.Helper()
	answer, err := w.plugin.OnCommand(w.Context(), &pluginsdk.OnCommandRequest{Name: name, Body: body, Origin: pluginsdk.FromPerson, Message: pluginsdk.Message{Scope: scope, Author: "Ann"}})
	if err != nil {
		return "error: " + err.Error()
	}
	return answer.Reply
}

// hourly makes an hourly job that has begun.
func (w *world) hourly(spec pluginsdk.CronSpec) pluginsdk.CronJob {
	w.Helper()
	spec.Name, spec.Schedule, spec.Timezone, spec.Prompt = "watch", "0 * * * *", "UTC", "Look."
	w.save(spec)
	w.fresh("watch")
	return w.job("watch")
}

// pass has an hour pass, and waits until no command looks for news any more.
func (w *world) pass() {
	w.Helper()
	w.now = w.now.Add(time.Hour)
	w.look()
	w.settled()
}

func (w *world) settled() {
	w.Helper()
	for {
		w.plugin.mu.Lock()
		busy := false
		for _, one := range w.plugin.lookings {
			busy = busy || !one.over
		}
		w.plugin.mu.Unlock()
		if !busy {
			break
		}
		<-w.plugin.wake
	}
	w.look()
}

// A watch with a command costs nothing while that finds no news; of 100 fires the one with news is one turn,
// and what this one hands to notify is all that people get.
func TestAWatchIsSilent(t *testing.T) {
	w := newWorld(t, hour(), nil)
	const news = 73
	looks := 0
	w.plugin.do = func(_ context.Context, command run.Command) (run.Result, error) {
		if looks++; looks == news {
			return run.Result{Stdout: []byte("the build is red\n")}, nil
		}
		if command.Args[2] != "check | grep red" {
			t.Errorf("it runs %q", command.Args)
		}
		return run.Result{Code: exitNothing}, nil
	}
	job := w.hourly(pluginsdk.CronSpec{Report: pluginsdk.ReportOnNotify})
	if reply := w.as(pluginsdk.ScopeAdmin, "edit watch | when = check | grep red"); !strings.Contains(reply, "is changed") {
		t.Fatal(reply)
	}
	w.look()
	for range 100 {
		w.pass()
		for _, run := range w.running() {
			thread, _ := w.plugin.thread(t.Context(), job)
			result, err := w.plugin.CallTool(t.Context(), &pluginsdk.CallToolRequest{
				Call: pluginsdk.Call{ID: "call-1", RunID: run.ID}, Name: toolNotify, ThreadID: thread, Input: json.RawMessage(`{"text": "The build is red.", "urgency": "high"}`),
			})
			if err != nil || result.Result.IsError {
				t.Errorf("%+v, %v", result, err)
			}
			w.host.FinishRun(run.ID, pluginsdk.InvokeResult{Text: "I have told them."})
		}
		w.look()
	}
	submitted := w.host.Submissions()
	if len(submitted) != 1 || looks != 100 {
		t.Fatalf("of 100 fires with %d looks, %d cost a turn", looks, len(submitted))
	}
	content := submitted[0].Content
	if !strings.HasPrefix(content, "Look.") || !strings.Contains(content, "the build is red") || !strings.Contains(content, "cron__notify") {
		t.Errorf("the agent is told %q", content)
	}
	if o := submitted[0].Options; o == nil || !o.QuietReply || !o.QuietNotices || o.Session != pluginsdk.SessionFresh {
		t.Errorf("options %+v", o)
	}
	if told := w.told(job); !slices.Equal(told, []string{"**Urgent** (watch): The build is red."}) {
		t.Errorf("people are told %q", told)
	}
	states := map[pluginsdk.CronFireState]int{}
	for _, fire := range w.fires("watch") {
		states[fire.State]++
	}
	if states[pluginsdk.FireSkipped] != 99 || states[pluginsdk.FireSucceeded] != 1 {
		t.Errorf("rows %v", states)
	}
}

// called has a program elsewhere have a job fire a minute later, with data.
func (w *world) called(job, data string) {
	w.Helper()
	w.now = w.now.Add(time.Minute)
	fire := pluginsdk.CronFire{Due: w.now, DecidedAt: w.now, Cause: pluginsdk.FireCalled, State: pluginsdk.FirePending, Data: data}
	if _, err := w.host.SDK().Crons.Report(w.Context(), &pluginsdk.ReportCronRequest{Name: job, Status: w.job(job).Status, Fires: []pluginsdk.CronFire{fire}}); err != nil {
		w.Fatal(err)
	}
	w.plugin.again.Store(true)
	w.look()
}

// A command that breaks is a failure, which is told once; so is a run that says nothing where people are to be
// shown something. While a job fails again and again it rests.
func TestFailuresAreToldOnce(t *testing.T) {
	t.Run("the command", func(t *testing.T) {
		w := newWorld(t, hour(), nil)
		w.plugin.do = func(context.Context, run.Command) (run.Result, error) {
			return run.Result{Code: 2, Stderr: "no network"}, nil
		}
		job := w.hourly(pluginsdk.CronSpec{})
		w.as(pluginsdk.ScopeAdmin, "edit watch | when = check")
		w.look()
		for range 3 {
			w.pass()
		}
		if told := w.told(job); len(told) != 1 || !strings.Contains(told[0], "exit code 2: no network") || len(w.host.Submissions()) != 0 {
			t.Errorf("told %q", told)
		}
		w.plugin.do = func(context.Context, run.Command) (run.Result, error) {
			return run.Result{}, errors.New("it has not ended")
		}
		w.pass()
		if fires := w.fires("watch"); fires[len(fires)-1].State != pluginsdk.FireFailed || !strings.Contains(fires[len(fires)-1].Reason, "it has not ended") {
			t.Errorf("%+v", fires)
		}
	})
	t.Run("nothing said", func(t *testing.T) {
		w := newWorld(t, hour(), nil)
		job := w.hourly(pluginsdk.CronSpec{})
		w.pass()
		w.host.FinishRun(w.running()[0].ID, pluginsdk.InvokeResult{Text: " \n"})
		w.look()
		if told := w.told(job); len(told) != 1 || !strings.Contains(told[0], "has said nothing") || w.job("watch").Status.Failures != 1 {
			t.Errorf("told %q", told)
		}
	})
	t.Run("called", func(t *testing.T) {
		w := newWorld(t, hour(), nil)
		job := w.hourly(pluginsdk.CronSpec{})
		fail := func() {
			for _, run := range w.running() {
				w.host.FinishRun(run.ID, pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: "no luck"}})
			}
			w.look()
		}
		for range 2 {
			w.called("watch", "build 7")
			fail()
		}
		if told := w.told(job); len(told) != 1 || w.job("watch").Status.Failures != 2 {
			t.Errorf("of two calls that failed people are told %q", told)
		}
		w.command("off watch")
		w.called("watch", "build 8") // it was asked for just before
		if fires := w.fires("watch"); len(w.running()) != 0 || fires[len(fires)-1].State != pluginsdk.FireSkipped {
			t.Errorf("while it is off: %+v", fires)
		}
		w.command("run watch")
		w.look()
		fail()
		if told := w.told(job); len(told) != 1 {
			t.Errorf("of one that somebody has asked for, who sees its row: %q", told)
		}
	})
	t.Run("it rests", func(t *testing.T) {
		w := newWorld(t, hour(), nil)
		w.save(pluginsdk.CronSpec{Name: "often", Schedule: "* * * * *", Timezone: "UTC", Prompt: "x"})
		w.fresh("often")
		for range 12 {
			w.now = w.now.Add(time.Minute)
			w.look()
			for _, run := range w.running() {
				w.host.FinishRun(run.ID, pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: "no luck"}})
			}
			w.look()
		}
		var made, rested []int
		for i, fire := range w.fires("often") {
			switch {
			case fire.State == pluginsdk.FireFailed:
				made = append(made, i)
			case fire.State == pluginsdk.FireSkipped && strings.Contains(fire.Reason, ": it is tried again from"):
				rested = append(rested, i)
			}
		}
		if fmt.Sprint(made) != "[0 2 6]" || len(rested) != 9 {
			t.Errorf("made at the minutes %v, rested at %v", made, rested)
		}
	})
}

// A run that a budget does not let happen is no failure of the job: it is not turned off, and people are told once a day.
func TestADeniedFireIsNoFailure(t *testing.T) {
	w := newWorld(t, hour(), nil)
	job := w.hourly(pluginsdk.CronSpec{})
	for range 7 {
		w.pass()
		run := w.running()[0]
		w.host.AddMessage(pluginsdk.Message{
			ThreadID: run.ThreadID, RunID: run.ID, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus,
			Metadata: json.RawMessage(`{"event": "pipeline_error", "denied": "metrics"}`), Content: "Not run: the budget is used up",
		})
		w.host.FinishRun(run.ID, pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: "the budget is used up"}})
		w.look()
	}
	if now := w.job("watch"); !now.Enabled || now.Status.Failures != 0 {
		t.Errorf("it is %+v", now)
	}
	for _, fire := range w.fires("watch") {
		if fire.State != pluginsdk.FireSkipped || fire.Reason != "the plugin metrics did not let it run: the budget is used up" {
			t.Errorf("%+v", fire)
		}
	}
	if told := w.told(job); len(told) < 1 || len(told) > 2 || !strings.Contains(told[0], "did not run: the plugin metrics") {
		t.Errorf("told %q", told)
	}
}

// Nobody hands words to people by the tool notify but the run of a schedule that may.
func TestWhoMayNotify(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web"})
	w.hourly(pluginsdk.CronSpec{Report: pluginsdk.ReportNever})
	w.pass()
	fired := w.running()[0].ID
	call := func(runID, id, text string) pluginsdk.ToolResult {
		input, err := json.Marshal(object{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := w.plugin.CallTool(t.Context(), &pluginsdk.CallToolRequest{Call: pluginsdk.Call{ID: id, RunID: runID}, Name: toolNotify, ThreadID: w.submitThread(), Input: input})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Result
	}
	for want, result := range map[string]pluginsdk.ToolResult{
		"only the run of a schedule": call("another", "1", "x"),
		"only the run":               call("", "1", "x"),
		"report: never":              call(fired, "1", "x"),
		"text":                       call(fired, "1", ""),
	} {
		if !result.IsError || !strings.Contains(result.Text, want) {
			t.Errorf("%+v, want %q", result, want)
		}
	}
	w.command("edit watch | report = on_notify")
	for n := range mostNotices + 2 {
		id := fmt.Sprint(n)
		first, again := call(fired, id, "news"), call(fired, id, "news")
		if first.IsError != (n >= mostNotices) || again.IsError != first.IsError {
			t.Errorf("notice %d: %+v, %+v", n, first, again)
		}
	}
	if told := w.told(w.job("watch")); len(told) != mostNotices {
		t.Errorf("%d were told", len(told))
	}
}

// submitThread is the thread of the first submission.
func (w *world) submitThread() string { return w.host.Submissions()[0].ThreadID }

// What a job may do beyond others holds when an operator has said it, whoever has written its row.
func TestPowersAreAnOperators(t *testing.T) {
	for what, spec := range map[string]pluginsdk.CronSpec{
		"when": {When: "true"}, "model": {Model: "opus"}, "permission_mode": {PermissionMode: "acceptEdits"}, "tools": {Tools: []string{"WebFetch"}},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, hour(), nil)
			w.plugin.do = func(context.Context, run.Command) (run.Result, error) { return run.Result{}, nil }
			w.hourly(pluginsdk.CronSpec{})
			spec.Name, spec.Schedule, spec.Timezone, spec.Prompt = "watch", "0 * * * *", "UTC", "Look."
			w.save(spec) // as by SQL, or by a plugin
			w.pass()
			w.pass()
			if n := len(w.host.Submissions()); n != 0 || !strings.Contains(w.command("list"), "/cron confirm watch") {
				t.Errorf("%d were submitted; it is shown as %q", n, w.command("list"))
			}
			w.now = w.now.Add(time.Second)
			w.command("run watch")
			w.look()
			fires := w.fires("watch")
			if len(fires) != 3 || fires[2].Cause != pluginsdk.FireAsked {
				t.Errorf("rows %+v", fires)
			}
			if fires = fires[2:]; len(fires) != 1 || fires[0].State != pluginsdk.FireSkipped || !strings.Contains(fires[0].Reason, "/cron confirm watch") {
				t.Errorf("asked for, it has %+v", fires)
			}
			change := "edit watch | " + what + " = " + fieldOf(what).get(spec)
			for _, scope := range []pluginsdk.TokenScope{"", pluginsdk.ScopeChat, pluginsdk.ScopeWork} {
				if reply := w.as(scope, "confirm watch"); !strings.Contains(reply, "only who may administer") {
					t.Errorf("%q confirms it: %s", scope, reply)
				}
				if reply := w.as(scope, change); !strings.Contains(reply, "only who may administer") {
					t.Errorf("%q sets it: %s", scope, reply)
				}
			}
			other := spec
			other.Prompt = "Look, and buy."
			if reply := w.as(pluginsdk.ScopeAdmin, "confirm watch | "+schedules.Version(other)); !strings.Contains(reply, "was changed since you have seen it") {
				t.Errorf("what the operator has not seen is confirmed: %s", reply)
			}
			if reply := w.as(pluginsdk.ScopeAdmin, "confirm watch | "+schedules.Version(w.job("watch").Spec)); !strings.Contains(reply, "is confirmed") {
				t.Fatal(reply)
			}
			w.look()
			w.pass()
			if n := len(w.host.Submissions()); n != 1 {
				t.Errorf("confirmed, it was submitted %d times", n)
			}
			spec.Prompt = "Look again."
			w.save(spec)
			w.finish()
			w.look()
			w.pass()
			if n := len(w.host.Submissions()); n != 1 { // who says what is done with the powers uses them
				t.Errorf("with another prompt it was submitted %d times", n)
			}
			// What others have set meanwhile is not confirmed with something else.
			if reply := w.as(pluginsdk.ScopeAdmin, "edit watch | model = haiku"); !strings.Contains(reply, "does not fire") {
				t.Errorf("an operator's change says %q", reply)
			}
			w.pass()
			if n := len(w.host.Submissions()); n != 1 {
				t.Errorf("with a model of the operator's it was submitted %d times", n)
			}
			if reply := w.as(pluginsdk.ScopeAdmin, "confirm watch"); !strings.Contains(reply, "model = haiku") || !strings.Contains(reply, "Look again.") {
				t.Errorf("confirmed without a word on what: %q", reply)
			}
			w.look()
			w.pass()
			if n := len(w.host.Submissions()); n != 2 {
				t.Errorf("confirmed again, it was submitted %d times", n)
			}
			w.finish()
			w.look()
			if reply := w.as(pluginsdk.ScopeAdmin, "edit watch | prompt = Look once more."); !strings.Contains(reply, "is changed. It is due") {
				t.Errorf("an operator's prompt: %q", reply)
			}
			w.pass()
			if n := len(w.host.Submissions()); n != 3 {
				t.Errorf("with the operator's prompt it was submitted %d times", n)
			}
		})
	}
}

// A job that is only for when the plan has room does not fire without, and says why.
func TestItFiresOnlyWithRoom(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.hourly(pluginsdk.CronSpec{IfRoom: true})
	window := pluginsdk.PlanWindow{Account: "login", Name: "five_hour", Used: 0.95, Status: pluginsdk.PlanWarning, ResetsAt: w.now.Add(100 * time.Hour)}
	account := pluginsdk.Account{Name: "login", Default: true, Plan: true, Windows: []pluginsdk.PlanWindow{window}}
	w.host.SetAccount(account)
	w.pass()
	if fires := w.fires("watch"); len(fires) != 1 || fires[0].State != pluginsdk.FireSkipped || !strings.Contains(fires[0].Reason, "five-hour limit is 95 % used") {
		t.Errorf("%+v", fires)
	}
	account.Windows[0].Used = 0.5
	w.host.SetAccount(account)
	w.pass()
	account.Windows[0].Used, account.Windows[0].ResetsAt = 1, w.now
	w.host.SetAccount(account)
	w.finish()
	w.look()
	w.pass() // the window that was full has begun anew
	w.host.Fail("Accounts.List", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "away"))
	w.finish()
	w.look()
	w.pass()
	if n := len(w.host.Submissions()); n != 3 {
		t.Errorf("with room it has fired %d times", n)
	}
}

// What people type to change a job, and what they mistype.
func TestEdit(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.hourly(pluginsdk.CronSpec{})
	for change, want := range map[string]string{
		"":                                  "FIELD = VALUE",
		"schedule":                          "changes nothing",
		"colour = red":                      `no "colour"; it has schedule, at,`,
		"schedule = sometimes":              "five",
		"cost_cap = much":                   "no amount",
		"timeout = soon":                    "no duration",
		"if_room = perhaps":                 "neither yes nor no",
		"at = 2001-01-01 10:00":             "passed",
		"timezone = Mars":                   "Mars",
		"prompt = /thread delete":           "no command",
		"hours = 25:00-26:00":               "hours",
		"schedule = 0 9 * * * | until = so": "until",
	} {
		if reply := w.command("edit watch | " + change); !strings.HasPrefix(reply, "error: ") || !strings.Contains(reply, want) {
			t.Errorf("%q: %s", change, reply)
		}
	}
	if job := w.job("watch"); job.Spec.Schedule != "0 * * * *" {
		t.Errorf("changed to %+v", job.Spec)
	}
	reply := w.command("edit watch | schedule = 30 9 * * mon-fri | timezone = Europe/Berlin | report = never | cost_cap = $0.50 | timeout = 5m | if_room = yes | until = 2099-01-01 10:00 | prompt = Say a | b = c")
	if !strings.Contains(reply, "is changed. It is due:") {
		t.Fatal(reply)
	}
	spec := w.job("watch").Spec
	if spec.Schedule != "30 9 * * mon-fri" || spec.Timezone != "Europe/Berlin" || spec.Report != pluginsdk.ReportNever || spec.CostCapUSD != 0.5 ||
		spec.Timeout != 5*time.Minute || !spec.IfRoom || spec.Until.UTC().Hour() != 9 || spec.Prompt != "Say a | b = c" {
		t.Errorf("%+v", spec)
	}
	shown := w.command("show watch")
	for _, line := range []string{"- schedule: 30 9 * * mon-fri", "- cost_cap: 0.50", "- timeout: 5m0s", "- if_room: yes", "- until: 2099-01-01T10:00:00+01:00", "> Say a | b = c"} {
		if !strings.Contains(shown, line) {
			t.Errorf("%q is not in %s", line, shown)
		}
	}
	for _, change := range []string{"cost_cap = 0", "timeout = ", "until = ", "if_room = no", "at = 2099-12-24 17:00"} {
		if reply := w.command("edit watch | " + change); !strings.Contains(reply, "is changed") {
			t.Errorf("%q: %s", change, reply)
		}
	}
	if spec := w.job("watch").Spec; spec.CostCapUSD != 0 || spec.Timeout != 0 || !spec.Until.IsZero() || spec.IfRoom || spec.Schedule != "" || spec.FireAt.IsZero() {
		t.Errorf("%+v", spec)
	}
}

// What was due is made up for when somebody asks for it, each time once more, and each with its row.
func TestBackfill(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.hourly(pluginsdk.CronSpec{})
	day := w.now.Format(time.DateOnly)
	for typed, want := range map[string]string{
		"from=2026-11-02 backfill watch":                        "to is missing",
		"to=2026-11-02 backfill watch":                          "from is missing",
		"from=2026-11-02 to=2026-11-03 list":                    "not for \"list\"",
		"backfill watch":                                        "say it so",
		"backfill watch | yesterday | today":                    "no time",
		"backfill ghost | " + day + " 00:00 | 2026-01-02":       "no schedule",
		"backfill watch | 2020-01-01 00:00 | " + day + " 00:00": "more than 50 times",
	} {
		if reply := w.command(typed); !strings.HasPrefix(reply, "error: ") || !strings.Contains(reply, want) {
			t.Errorf("%q: %s", typed, reply)
		}
	}
	from, to := w.now.Add(-26*time.Hour).Format("2006-01-02 15:04"), w.now.Add(-24*time.Hour).Format("2006-01-02 15:04")
	for _, typed := range []string{"backfill watch | " + from + " | " + to, `from="` + from + `" to='` + to + `' backfill watch`} {
		w.now = w.now.Add(time.Millisecond)
		if reply := w.command(typed); !strings.Contains(reply, "fires for 3 times") {
			t.Fatal(reply)
		}
		w.look()
		w.finish()
		w.look()
	}
	fires := w.fires("watch")
	for _, fire := range fires {
		if fire.State != pluginsdk.FireSucceeded || fire.Cause != pluginsdk.FireBackfill {
			t.Errorf("%+v", fire)
		}
	}
	if len(fires) != 6 || len(w.host.Submissions()) != 6 || !strings.Contains(w.host.Submissions()[0].Content, "makes up for the time") {
		t.Errorf("%d rows, %d submitted", len(fires), len(w.host.Submissions()))
	}
}
