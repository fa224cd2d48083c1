package terminal

import (
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// FailedAttempt says on one line what an event of type EventPipelineRetry
// tells: which attempt failed, why, and when the next one is.
func FailedAttempt(event pluginsdk.Event) string {
	retry := payload[pluginsdk.RetryPayload](event)
	when := "at once"
	// Both times are the daemon's, so its clock need not be this machine's.
	if wait := retry.NextAt.Sub(event.Timestamp).Round(time.Second); wait > 0 {
		when = "in " + wait.String()
	}
	return fmt.Sprintf("attempt %d failed: %s; trying again %s", retry.Attempt, Short(retry.Error, detailLimit), when)
}

// WaitsFor says on one line what an event of type EventPipelineWaiting tells: which plugin the message waits for, and
// what to do if that does not answer.
func WaitsFor(event pluginsdk.Event) string {
	waiting := payload[pluginsdk.WaitingPayload](event)
	plugin := Clean(waiting.Plugin)
	return fmt.Sprintf("The message waits for the plugin %s (%s). It continues when the plugin answers. "+
		"If the plugin does not recover, an operator can turn it off: harness plugin disable %s", plugin, Clean(string(waiting.Hook)), plugin)
}

// Cancelled says why a run that was cancelled ended.
func Cancelled(ending *client.Ending) string {
	if statuses := ending.Statuses(); len(statuses) > 0 {
		return "cancelled: " + Clean(statuses[0].Content)
	}
	if ending.Run.Error != "" {
		return "cancelled: " + Clean(ending.Run.Error)
	}
	return "cancelled"
}

// Again says how the message of a run that finally failed is tried again; ""
// when there is nothing to try: a command is simply typed again.
func Again(run client.Run) string {
	if run.State != pluginsdk.RunFailed || run.Kind == pluginsdk.RunCommand || run.ID == "" {
		return ""
	}
	return "To try again: harness retry " + Clean(run.ID)
}
