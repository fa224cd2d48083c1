package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// heldTold is how long a run waits for a plugin, after it has given its place back, before
// its thread is told.
const heldTold = 9 * time.Second

// hold lets a run wait for a slow call without its place among the runs at work. over waits
// for a place again.
func (p *Pipeline) hold(t *trip, call pluginsdk.HookCall) (over func(ctx context.Context) error) {
	back := p.places.Rest(t.run.ID)
	told := make(chan struct{})
	timer := time.AfterFunc(p.config.HeldTold, func() {
		defer close(told)
		guard.Try(p.config.Log.With("run", t.run.ID), "telling that a run waits for a plugin", func() { p.tellHeld(t, call) })
	})
	return func(ctx context.Context) error {
		if !timer.Stop() {
			<-told
		}
		return back(ctx)
	}
}

// tellHeld stores which call the run waits for, and tells the thread's people.
func (p *Pipeline) tellHeld(t *trip, call pluginsdk.HookCall) {
	held := ledger.HeldRun{RunID: t.run.ID, Hooks: append(t.calls.all(), call)}
	if t.tells() && !t.run.QuietNotices() {
		held.Row = heldRow(t, call)
	}
	lanes, err := p.store.HoldRun(t.work, t.fence, held)
	if err != nil {
		p.config.Log.Warn("the thread cannot be told that its run waits for a plugin", "run", t.run.ID, "plugin", call.Plugin, "err", err)
		return
	}
	for _, lane := range lanes {
		p.outbox.Wake(lane.Plugin, lane.Target)
	}
}

func heldRow(t *trip, call pluginsdk.HookCall) *ledger.Row {
	metadata, _ := json.Marshal(map[string]string{"event": "pipeline_waiting", "plugin": call.Plugin}) //nolint:errchkjson // strings
	key := ledger.HeldKey + t.run.ID + ":" + call.Plugin
	who, drop := "This thread", "To drop the message: /stop. "
	switch {
	case t.fence.Beside():
		who, drop = "The command /"+t.run.BesideAs, ""
	case t.answered:
		drop = "The agent has answered; the answer is shown then. "
	}
	text := fmt.Sprintf("%[4]s waits for the plugin %[1]s, which has not answered %[2]s since %[3]s. It continues when the plugin answers. "+
		drop+"If the plugin does not recover, an operator can turn it off: harness plugin disable %[1]s",
		call.Plugin, call.Hook, call.StartedAt.UTC().Format(time.TimeOnly+" MST"), who)
	if call.Error != "" { // the grant that is missing
		key += ":grant"
		text = fmt.Sprintf("%s waits for a decision of an operator: %s. It continues by itself after that. %s", who, call.Error, drop)
	}
	return &ledger.Row{Key: key, Message: pluginsdk.NewMessage{
		Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "core", Metadata: metadata, Content: strings.TrimSpace(text),
	}}
}
