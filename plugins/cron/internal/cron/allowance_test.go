package cron

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A time in words costs a turn: who floods the command is refused, in words that say which form costs nothing, others are
// not, and names that are made up do not help for long.
func TestTimesInWordsAreBounded(t *testing.T) {
	w := newWorld(t, hour(), nil)
	asked := 0
	w.host.Agent = func(context.Context, pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		asked++
		return pluginsdk.InvokeResult{StructuredOutput: json.RawMessage(`{"schedule": "0 9 * * mon-fri"}`)}
	}
	calls := 0
	add := func(author string) error {
		calls++
		_, err := w.plugin.OnCommand(t.Context(), &pluginsdk.OnCommandRequest{
			Call: pluginsdk.Call{ID: fmt.Sprint("words-", calls)}, Name: name, Body: "add tea | every weekday at 9 | UTC | x", Origin: pluginsdk.FromPerson,
			Message: pluginsdk.Message{Source: "web", Author: author},
		})
		return err
	}
	for n := range wordsAnHour {
		if err := add("Ann"); err != nil {
			t.Fatalf("after %d: %v", n, err)
		}
	}
	if err := add("Ann"); pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted || !strings.Contains(err.Error(), "0 9 * * mon-fri") || asked != wordsAnHour {
		t.Errorf("after %d turns: %v", asked, err)
	}
	if reply := w.command("add free | 0 9 * * mon-fri | UTC | x"); !strings.Contains(reply, "is made, and on") {
		t.Errorf("an expression, which costs nothing: %s", reply)
	}
	if err := add("Bob"); err != nil {
		t.Errorf("somebody else: %v", err)
	}
	for n := range 2 * wordsOfAll {
		_ = add(fmt.Sprint("made up ", n))
	}
	if asked != wordsOfAll {
		t.Errorf("under names that are made up %d turns were taken", asked)
	}
	w.now = w.now.Add(time.Hour)
	if err := add("Ann"); err != nil || len(w.plugin.words) != 1 {
		t.Errorf("an hour later: %v, %d are remembered", err, len(w.plugin.words))
	}
}

// A keep of seconds, which only SQL can say, is said to be too short where people look.
func TestAKeepOfSecondsIsSaid(t *testing.T) {
	job := pluginsdk.CronJob{Enabled: true, Spec: pluginsdk.CronSpec{Name: "tea", Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "x", Keep: 5 * time.Second}}
	if got := line(job); !strings.Contains(got, "keep = 5s is less than an hour: the history is kept for an hour") {
		t.Error(got)
	}
	check, err := new(Plugin).checkJob(t.Context(), job)
	if err != nil || check == nil || check.State != pluginsdk.CheckWarning || !strings.Contains(check.Detail, "keep = 5s") || !strings.Contains(check.Remedy, "keep = 30d") {
		t.Errorf("%+v, %v", check, err)
	}
	job.Spec.Keep = time.Hour
	if got := line(job); strings.Contains(got, "keep") {
		t.Error(got)
	}
}
