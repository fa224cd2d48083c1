package budget

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/metrics/internal/rows"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// digest is a run of the scheduled job digest in a thread that has another name.
func digest() pluginsdk.OnBeforeRunRequest {
	request := message("talk")
	request.Thread.Name = "renamed"
	request.Message = pluginsdk.Message{Plugin: "cron", Metadata: json.RawMessage(`{"fire": "J@2026-11-28T15:00:00Z", "job": "digest"}`)}
	request.Run.Purpose = "cron"
	return request
}

// ended is what a run has come to.
func (w *world) ended(id string, state pluginsdk.RunState) pluginsdk.Run {
	return pluginsdk.Run{
		ID: id, ThreadID: "talk", Kind: pluginsdk.RunMessage, State: state, Purpose: "cron", CostUSD: 0.25, Usage: pluginsdk.Usage{InputTokens: 10, OutputTokens: 20},
		Result: &pluginsdk.InvokeResult{Model: "opus"}, QueuedAt: w.now.Add(-time.Minute), FinishedAt: w.now,
	}
}

// rows are those that are kept, as NAME VALUE TAGS, and each is the plugin's, of the thread talk.
func (w *world) rows() (all []string) {
	w.Helper()
	for _, m := range w.host.Metrics() {
		all = append(all, fmt.Sprint(m.Name, " ", m.Value, " ", m.Tags))
		if m.Plugin != name || m.ThreadID != "talk" || m.CreatedAt.IsZero() {
			w.Errorf("the row %s is of the plugin %q and the thread %q at %s", m.Name, m.Plugin, m.ThreadID, m.CreatedAt)
		}
	}
	return all
}

func (w *world) wantRows(want ...string) {
	w.Helper()
	if got := w.rows(); !slices.Equal(got, want) {
		w.Errorf("the rows are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// calls counts the calls of a method of the host.
func (w *world) calls(method string) (n int) {
	for _, call := range w.host.Calls() {
		if call.Method == method {
			n++
		}
	}
	return n
}

// A chart of what runs have cost would be wrong if a run had its rows twice, or none: a run that has ended is kept once, with its
// job, also when the plugin is started anew, and when it ended while the plugin was not there.
func TestWhatARunCameToIsKeptOnce(t *testing.T) {
	w := newWorld(t, nil)
	request := digest()
	w.gate(request)
	w.host.AddRun(w.ended(request.Run.ID, pluginsdk.RunSucceeded))
	const tags = "job:digest kind:message model:opus"
	want := []string{
		"harness_runs_ended_total 1 map[" + tags + " outcome:answered purpose:cron state:succeeded]",
		"harness_run_duration_seconds 60 map[" + tags + " purpose:cron]",
		"harness_turn_cost_usd_total 0.25 map[" + tags + " purpose:cron]",
		"harness_turn_tokens_total 10 map[" + tags + " purpose:cron tokens:input]",
		"harness_turn_tokens_total 20 map[" + tags + " purpose:cron tokens:output]",
		"harness_cron_runs_total 1 map[" + tags + " purpose:cron state:succeeded]",
	}
	w.look()
	w.wantRows(want...)
	recorded := w.calls("Metrics.Record")
	w.look()
	if n := w.calls("Metrics.Record"); n != recorded {
		t.Errorf("while nothing happens it records rows %d times", n-recorded)
	}
	missed := w.ended("missed", pluginsdk.RunFailed)
	missed.Purpose, missed.Usage, missed.CostUSD, missed.Result = "", pluginsdk.Usage{}, 0, nil
	w.host.AddRun(missed)
	w.host.AddRun(pluginsdk.Run{ID: "typed", ThreadID: "talk", Kind: pluginsdk.RunCommand, State: pluginsdk.RunSucceeded, FinishedAt: w.now})
	w.serve()
	w.look()
	w.wantRows(append(want, "harness_runs_ended_total 1 map[kind:message state:failed]", "harness_run_duration_seconds 60 map[kind:message]")...)
}

// A run that takes longer than an hour is not forgotten.
func TestARunThatTakesLongIsKept(t *testing.T) {
	w := newWorld(t, nil)
	request := message("talk")
	w.gate(request)
	w.host.AddRun(pluginsdk.Run{ID: request.Run.ID, ThreadID: "talk", Kind: pluginsdk.RunMessage, State: pluginsdk.RunQueued})
	w.host.BeginRun(request.Run.ID)
	w.now = w.now.Add(2 * time.Hour)
	w.look()
	w.host.FinishRun(request.Run.ID, pluginsdk.InvokeResult{Text: "done"})
	w.look()
	w.wantRows() // it was asked for within the hour
	w.now = w.now.Add(time.Hour)
	w.look()
	if got := w.rows(); len(got) == 0 || !strings.HasPrefix(got[0], "harness_runs_ended_total 1 ") {
		t.Errorf("the rows are %q", got)
	}
}

// Turns that no budget counts, such as those of a plan, have rows all the same.
func TestARunWithoutABudgetIsKept(t *testing.T) {
	w := newWorld(t, nil)
	w.wantSays("rm daily", "is removed")
	request := digest()
	w.wantAccounts(request)
	w.host.AddRun(w.ended(request.Run.ID, pluginsdk.RunSucceeded))
	w.look()
	if got := w.rows(); len(got) == 0 {
		t.Error("it has no rows")
	}
}

func event(kind pluginsdk.EventType, payload any) pluginsdk.Event {
	data, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	return pluginsdk.Event{Type: kind, ThreadID: "talk", Data: data, Timestamp: saturday}
}

func (w *world) hear(events ...pluginsdk.Event) {
	w.Helper()
	if _, err := w.plugin.OnBroadcast(w.Context(), &pluginsdk.OnBroadcastRequest{Events: events}); err != nil {
		w.Fatal(err)
	}
}

// Deliveries and tasks have a row each, however often their end is told; what could not be written is written the next time.
func TestDeliveriesAndTasksHaveRows(t *testing.T) {
	w := newWorld(t, nil)
	w.look()
	failed := event(pluginsdk.EventDelivery, pluginsdk.DeliveryPayload{DeliveryID: "d", ThreadID: "talk", Plugin: "discord", State: pluginsdk.DeliveryPending, Attempt: 1})
	arrived := event(pluginsdk.EventDelivery, pluginsdk.DeliveryPayload{DeliveryID: "d", ThreadID: "talk", Plugin: "discord", State: pluginsdk.DeliveryDelivered, Attempt: 2})
	w.host.AddTask(pluginsdk.Task{ID: "T", ThreadID: "talk", Plugin: "delegation", Status: pluginsdk.TaskCompleted, CreatedAt: w.now.Add(-time.Hour), CompletedAt: w.now})
	w.host.AddTask(pluginsdk.Task{ID: "U", ThreadID: "talk", Plugin: "delegation", Status: pluginsdk.TaskRunning, CreatedAt: w.now})
	w.hear(failed, arrived, arrived, event(pluginsdk.EventTaskValidated, pluginsdk.TaskPayload{TaskID: "T", ThreadID: "talk", Status: pluginsdk.TaskCompleted}))
	w.host.Fail("Metrics.Record", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away"))
	if err := w.own.look(t.Context()); err == nil {
		t.Error("it does not say that rows could not be written")
	}
	w.host.Fail("Metrics.Record", nil)
	w.look()
	w.hear(arrived, event(pluginsdk.EventTaskValidated, pluginsdk.TaskPayload{TaskID: "T", ThreadID: "talk", Status: pluginsdk.TaskCompleted}))
	w.look()
	w.wantRows(
		"harness_delivery_attempts_total 1 map[plugin:discord state:pending]",
		"harness_delivery_attempts_total 1 map[plugin:discord state:delivered]",
		"harness_tasks_ended_total 1 map[plugin:delegation status:completed task:T]",
		"harness_task_duration_seconds 3600 map[plugin:delegation status:completed task:T]",
	)
}

// Rows that the daemon refuses for good are not offered again each minute, and no budget suffers; without the right to record, nothing
// is kept from then on.
func TestRowsThatAreRefusedAreNotOfferedAgain(t *testing.T) {
	dead := func(id string) pluginsdk.Event {
		return event(pluginsdk.EventDelivery, pluginsdk.DeliveryPayload{DeliveryID: id, ThreadID: "talk", State: pluginsdk.DeliveryDead, Attempt: 1})
	}
	for code, want := range map[pluginsdk.Code][]string{
		pluginsdk.CodeInvalid: {"harness_delivery_attempts_total 1 map[state:dead]"},
		pluginsdk.CodeDenied:  nil,
	} {
		w := newWorld(t, nil)
		w.hear(dead("a"))
		w.host.Fail("Metrics.Record", pluginsdk.Errorf(code, "refused"))
		w.look()
		w.host.Fail("Metrics.Record", nil)
		recorded := w.calls("Metrics.Record")
		w.look()
		if n := w.calls("Metrics.Record"); n != recorded {
			t.Errorf("%s: it offers them %d times more", code, n-recorded)
		}
		w.hear(dead("b"))
		w.look()
		w.wantRows(want...)
	}
}

// Off means off: no row, no call for one, and no event that wakes the plugin. What waits is written before the plugin ends.
func TestRowsAreTurnedOff(t *testing.T) {
	w := newWorld(t, nil)
	w.wantSays("rm daily", "is removed")
	if rules, _ := w.host.Listening(); len(rules) != len(rows.Rules) || rules[0].Types[0] != rows.Rules[0].Types[0] {
		t.Errorf("it listens to %+v", rules)
	}
	w.look()
	set := func(settings string) {
		t.Helper()
		if _, err := w.plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(settings)}); err != nil {
			t.Fatal(err)
		}
	}
	set(`{"rows": false}`)
	if rules, _ := w.host.Listening(); len(rules) != 1 || !slices.Equal(rules[0].Types, rows.Silence[0].Types) {
		t.Errorf("it still listens to %+v", rules)
	}
	calls := len(w.host.Calls())
	request := digest()
	w.gate(request)
	w.hear(event(pluginsdk.EventDelivery, pluginsdk.DeliveryPayload{DeliveryID: "d", ThreadID: "talk", State: pluginsdk.DeliveryDead, Attempt: 1}))
	if w.own.begun.open() || len(w.host.Calls()) != calls {
		t.Errorf("a turn that no budget counts is looked at, or has the host asked: %+v", w.host.Calls()[calls:])
	}
	w.host.AddRun(w.ended(request.Run.ID, pluginsdk.RunSucceeded))
	w.look()
	w.wantRows()
	set(`{"rows": true}`)
	w.hear(event(pluginsdk.EventDelivery, pluginsdk.DeliveryPayload{DeliveryID: "d", ThreadID: "talk", State: pluginsdk.DeliveryDead, Attempt: 1}))
	if err := w.plugin.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantRows("harness_delivery_attempts_total 1 map[state:dead]")
}

// A budget of a job counts the job's turns, whatever the thread is called that they are in, and however anybody else names a thread.
func TestABudgetOfAJobFollowsTheJob(t *testing.T) {
	w := newWorld(t, func(host *plugintest.Host) { host.AddThread(pluginsdk.Thread{ID: "fires", Kind: pluginsdk.ThreadCron}) })
	w.wantSays("set it $10 cron=Digest", "**it**: $")
	w.wantSays("rm daily", "is removed")
	w.wantAccounts(digest(), "day:2026-11-28/cron/digest 10.00 0.05")
	other := digest()
	other.Thread.Kind, other.Thread.Name = pluginsdk.ThreadCron, "digest"
	other.Message.Metadata = json.RawMessage(`{"job": "another"}`)
	w.wantAccounts(other)
	forged := digest()
	forged.Message.Plugin = "chat"
	w.wantAccounts(forged)
	w.wantSays("set it $10 cron=*", "**it**: $")
	w.wantAccounts(digest(), "day:2026-11-28/cron/digest 10.00 0.05")
	w.wantAccounts(other, "day:2026-11-28/cron/another 10.00 0.05")
}
