// Package rows keeps what runs, tasks and deliveries came to as rows of the table metrics, for charts and for other
// programs. Each observation is one row, under the name that /metrics has for the sum of all of them.
package rows

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The names of the rows. The value of a row whose name ends with _total is what the observation adds to that sum.
const (
	RunEnded     = "harness_runs_ended_total"        // 1
	RunDuration  = "harness_run_duration_seconds"    // from acceptance to the end, the wait included
	TurnTokens   = "harness_turn_tokens_total"       // a row for each kind of tokens that is not 0
	TurnCost     = "harness_turn_cost_usd_total"     // in US dollars, of all attempts of the run
	CronRun      = "harness_cron_runs_total"         // 1; /metrics has no such figure
	TaskEnded    = "harness_tasks_ended_total"       // 1
	TaskDuration = "harness_task_duration_seconds"   // from the making of a task to its end; /metrics has no such figure
	Delivery     = "harness_delivery_attempts_total" // 1
)

// cronPurpose is the purpose of runs that the plugin cron submits.
const cronPurpose = "cron"

// ofRun returns the rows of a run that has ended. The job is the scheduled job whose prompt the run answers; empty: it
// answers none, or nobody knows which.
func ofRun(run pluginsdk.Run, job string) (all []pluginsdk.NewMetric) {
	tags := tagsOf("kind", string(run.Kind), "plugin", run.Plugin, "purpose", run.Purpose, "task", run.TaskID, "account", run.Account, "job", job)
	if run.Result != nil {
		tags["model"] = run.Result.Model
		if run.Result.Model == "" {
			delete(tags, "model")
		}
	}
	add := func(name string, value float64, more ...string) {
		all = append(all, pluginsdk.NewMetric{
			// A merged run may be queued again, and ends once more then.
			Key:  keyOf("run", run.ID, append([]string{string(run.State), name}, more...)...),
			Name: name, Value: value, Tags: with(tags, more...), ThreadID: run.ThreadID, At: run.FinishedAt,
		})
	}
	add(RunEnded, 1, "state", string(run.State), "outcome", outcomeOf(run))
	if run.State == pluginsdk.RunMerged {
		return all // what it came to is the other run's
	}
	if !run.FinishedAt.IsZero() && run.FinishedAt.After(run.QueuedAt) {
		add(RunDuration, run.FinishedAt.Sub(run.QueuedAt).Seconds())
	}
	if run.CostUSD > 0 {
		add(TurnCost, run.CostUSD)
	}
	for _, used := range []struct {
		kind  string
		count int64
	}{
		{"input", run.Usage.InputTokens}, {"output", run.Usage.OutputTokens}, {"cache_read", run.Usage.CacheReadTokens}, {"cache_write", run.Usage.CacheWriteTokens},
	} {
		if used.count > 0 {
			add(TurnTokens, float64(used.count), "tokens", used.kind)
		}
	}
	if job != "" || run.Purpose == cronPurpose {
		add(CronRun, 1, "state", string(run.State))
	}
	return all
}

// outcomeOf says how the agent's turn ended: answered, or the kind of its failure; empty: there was no turn.
func outcomeOf(run pluginsdk.Run) string {
	switch {
	case run.Result == nil:
		return ""
	case run.Result.Failure != nil:
		return string(run.Result.Failure.Kind)
	}
	return "answered"
}

// ofTask returns the rows of a task that has ended.
func ofTask(task pluginsdk.Task) []pluginsdk.NewMetric {
	tags := tagsOf("status", string(task.Status), "plugin", task.Plugin, "task", task.ID, "model", task.Model)
	all := []pluginsdk.NewMetric{{Key: keyOf("task", task.ID, TaskEnded), Name: TaskEnded, Value: 1, Tags: tags, ThreadID: task.ThreadID, At: task.CompletedAt}}
	if task.CompletedAt.After(task.CreatedAt) {
		all = append(all, pluginsdk.NewMetric{
			Key: keyOf("task", task.ID, TaskDuration), Name: TaskDuration, Value: task.CompletedAt.Sub(task.CreatedAt).Seconds(),
			Tags: tags, ThreadID: task.ThreadID, At: task.CompletedAt,
		})
	}
	return all
}

// ofDelivery returns the row of an attempt at a delivery; false: the event is of something else.
func ofDelivery(event pluginsdk.Event) (row pluginsdk.NewMetric, is bool) {
	var payload pluginsdk.DeliveryPayload
	if event.Type != pluginsdk.EventDelivery || json.Unmarshal(event.Data, &payload) != nil || payload.DeliveryID == "" {
		return row, false
	}
	return pluginsdk.NewMetric{
		Key:  keyOf("delivery", payload.DeliveryID, strconv.Itoa(payload.Attempt), string(payload.State)),
		Name: Delivery, Value: 1, Tags: tagsOf("plugin", payload.Plugin, "state", string(payload.State)), ThreadID: payload.ThreadID, At: event.Timestamp.Truncate(time.Microsecond),
	}, true
}

// keyOf names a row among the plugin's: one with a key that is there already is not stored again.
func keyOf(kind, id string, more ...string) string {
	key := kind + "/" + id
	for _, part := range more {
		key += "/" + part
	}
	return key
}

// tagsOf makes tags of names and values, without those that have no value.
func tagsOf(pairs ...string) map[string]string { return with(nil, pairs...) }

// with returns the tags with more of them.
func with(tags map[string]string, pairs ...string) map[string]string {
	all := make(map[string]string, len(tags)+len(pairs)/2)
	for tag, value := range tags {
		all[tag] = value
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			all[pairs[i]] = pairs[i+1]
		}
	}
	return all
}
