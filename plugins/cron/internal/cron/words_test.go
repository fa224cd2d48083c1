package cron

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A time in words is shown as what the agent reads it as, with the command that keeps it, and nothing is kept before. What
// the agent says is checked as if a person had typed it.
func TestATimeInWords(t *testing.T) {
	w := newWorld(t, hour(), nil)
	var asked []pluginsdk.StartTurnRequest
	answer := func(object string) {
		w.host.Agent = func(_ context.Context, request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
			asked = append(asked, request)
			return pluginsdk.InvokeResult{StructuredOutput: json.RawMessage(object)}
		}
	}
	answer(`{"schedule": "0 9 * * mon-fri", "at": "", "timezone": "Asia/Tokyo", "cannot": ""}`)
	reply := w.command("add tea | every weekday at 9 | Europe/Berlin | Tea | milk?")
	if !strings.HasPrefix(reply, `"every weekday at 9" is read as: 0 9 * * mon-fri (Europe/Berlin). It is due:`) || strings.Count(reply, " 09:00 CE") != shownNext {
		t.Fatal(reply)
	}
	if jobs, err := w.plugin.jobs(t.Context()); err != nil || len(jobs) != 0 {
		t.Fatalf("kept before anybody has said so: %+v, %v", jobs, err)
	}
	_, keep, _ := strings.Cut(reply, "\nTo keep it: /cron ")
	if kept := w.command(keep); !strings.HasPrefix(kept, "tea is made, and on. It is due:") {
		t.Fatalf("%q says %q", keep, kept)
	}
	if spec := w.job("tea").Spec; spec.Schedule != "0 9 * * mon-fri" || spec.Timezone != "Europe/Berlin" || spec.Prompt != "Tea | milk?" {
		t.Errorf("%+v", spec)
	}
	of := asked[0]
	if of.CostCapUSD != wordsCap || of.Model != wordsModel || of.Session != pluginsdk.SessionFresh || !strings.HasPrefix(of.Key, "words:") || len(of.JSONSchema) == 0 ||
		!strings.Contains(of.Prompt, `"words":"every weekday at 9"`) || !strings.Contains(of.Prompt, "Europe/Berlin") || len(of.DisallowedTools) == 0 {
		t.Errorf("asked %+v", of)
	}
	answer(`{"schedule": "", "at": "2099-12-24 17:00", "timezone": "Europe/Berlin", "cannot": ""}`)
	if reply := w.command("add once | christmas eve in Berlin at 5 pm, 2099 | | Presents"); !strings.Contains(reply, "is read as: 2099-12-24 17:00:00 (Europe/Berlin). It is due:\n- Thu 2099-12-24 17:00 CET") ||
		!strings.HasSuffix(reply, "\nTo keep it: /cron add once | 2099-12-24 17:00:00 | Europe/Berlin | Presents") {
		t.Error(reply)
	}
	for said, want := range map[string]string{
		`{"schedule": "0 9 * * mon-fry", "at": "", "timezone": "UTC", "cannot": ""}`:           "has read \"at dawn\" as \"0 9 * * mon-fry\" (UTC), and that is wrong",
		`{"schedule": "0 9 * * *\n* * * * *", "at": "", "timezone": "UTC", "cannot": ""}`:      "that is wrong",
		`{"schedule": "0 9 * * *", "at": "", "timezone": "Mars/Olympus", "cannot": ""}`:        "IANA",
		`{"schedule": "", "at": "2001-01-01 10:00", "timezone": "UTC", "cannot": ""}`:          "has passed already",
		`{"schedule": "0 9 * * *", "at": "2099-01-01 10:00", "timezone": "UTC", "cannot": ""}`: "could not say when",
		`{"schedule": "", "at": "", "timezone": "UTC", "cannot": "Dawn is at no fixed time."}`: "is no time that a schedule can have: Dawn is at no fixed time. Say a schedule such as 0 9 * * mon-fri",
		`[]`: "could not translate it",
	} {
		answer(said)
		if reply := w.command("add odd | at dawn | | Wake up"); !strings.HasPrefix(reply, "error: ") || !strings.Contains(reply, want) || !strings.Contains(reply, "0 9 * * mon-fri") {
			t.Errorf("%s: %s", said, reply)
		}
	}
	w.host.Agent = func(context.Context, pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		return pluginsdk.InvokeResult{Demo: true, StructuredOutput: json.RawMessage(`{"schedule": "* * * * *"}`)}
	}
	if reply := w.command("add odd | at dawn | | Wake up"); !strings.Contains(reply, "the demo agent cannot translate words. Say a schedule such as 0 9 * * mon-fri") {
		t.Error(reply)
	}
	before := len(asked)
	for _, typed := range []string{"add odd | at dawn | Berlin | Wake up", "add odd | at dawn | UTC | /stop", "add tea | at dawn | UTC | x", "add odd | " + strings.Repeat("dawn ", 100) + " | UTC | x"} {
		if reply := w.command(typed); !strings.HasPrefix(reply, "error: ") || len(asked) != before {
			t.Errorf("%s: %s, after the agent was asked", typed, reply)
		}
	}
}
