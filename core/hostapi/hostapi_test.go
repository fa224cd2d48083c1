package hostapi

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Default deny: a capability opens what needs it, and nothing else; who refuses
// says what would help.
func TestEachCapabilityIsGrantedOnItsOwn(t *testing.T) {
	ctx := t.Context()
	for _, granted := range pluginsdk.AllCapabilities() {
		f := newFixture(granted)
		for _, needed := range pluginsdk.AllCapabilities() {
			err := f.api.Admit(ctx, "p", needed)
			switch {
			case needed == granted && err != nil:
				t.Errorf("%s was granted: %v", granted, err)
			case needed != granted && pluginsdk.CodeOf(err) != pluginsdk.CodeDenied:
				t.Errorf("%s was granted, %s is allowed: %v", granted, needed, err)
			case err != nil && !strings.Contains(err.Error(), "harness plugin grant p "+string(needed)):
				t.Errorf("the refusal does not help: %v", err)
			}
		}
	}
	if err := newFixture().api.Admit(ctx, "p", ""); err != nil {
		t.Errorf("what every plugin may do: %v", err)
	}
}

// What a hook asks for counts only while its call lasts.
func TestTokenEndsWithItsCall(t *testing.T) {
	f := newFixture()
	ctx, token := f.within(t, ledger.Behalf{RunID: "R", Fence: ledger.Fence{ThreadID: "T", Epoch: 7}})
	if err := f.append(ctx, "T", text...); err != nil {
		t.Fatal(err)
	}
	stolen := &fixture{Host: f.api.For("q")}
	refused(t, "another plugin's token", stolen.append(ctx, "T", text...), pluginsdk.CodeStale)
	f.tokens.Close(token)
	refused(t, "after the call", f.append(ctx, "T", text...), pluginsdk.CodeStale)
	refused(t, "what every plugin may do, after the call", f.api.Admit(ctx, "p", ""), pluginsdk.CodeStale)
}

func TestTokenEndsWithTheDeadline(t *testing.T) {
	f := newFixture()
	token := f.tokens.Open(t.Context(), "p", ledger.Behalf{Fence: ledger.Fence{ThreadID: "T"}}, time.Now())
	ctx := pluginsdk.WithCall(t.Context(), pluginsdk.Call{ID: "R:x", Token: token})
	refused(t, "at the deadline", f.append(ctx, "T", text...), pluginsdk.CodeStale)
}

// A call that is cancelled is over before its plugin can know.
func TestTokenEndsWhenItsCallIsCancelled(t *testing.T) {
	f := newFixture()
	call, cancel := context.WithCancel(t.Context())
	token := f.tokens.Open(call, "p", ledger.Behalf{}, time.Now().Add(time.Hour))
	inner := f.tokens.Open(t.Context(), "p", ledger.Behalf{Token: token}, time.Now().Add(time.Hour))
	within := func(token string) context.Context {
		return pluginsdk.WithCall(t.Context(), pluginsdk.Call{ID: "x", Token: token})
	}
	for _, token := range []string{token, inner} {
		if err := f.api.Admit(within(token), "p", ""); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	refused(t, "in the call", f.api.Admit(within(token), "p", ""), pluginsdk.CodeStale)
	refused(t, "in a call that was made in it", f.api.Admit(within(inner), "p", ""), pluginsdk.CodeStale)
}

func TestRubbishIsNamed(t *testing.T) {
	f, ctx := newFixture(), t.Context()
	event := func(kind pluginsdk.EventType, data string) error {
		return second(f.Events.Publish(ctx, &pluginsdk.PublishEventRequest{Type: kind, Data: []byte(data)}))
	}
	put := func(key string, size int) error {
		return second(f.State.Put(ctx, &pluginsdk.PutStateRequest{Key: key, Value: make([]byte, size)}))
	}
	cron := func(spec pluginsdk.CronSpec) error {
		spec.Name = "x"
		return second(f.Crons.Save(ctx, &pluginsdk.SaveCronRequest{Spec: spec}))
	}
	record := func(metrics ...pluginsdk.NewMetric) error {
		return second(f.Metrics.Record(ctx, &pluginsdk.RecordMetricsRequest{Metrics: metrics}))
	}
	create := func(thread pluginsdk.NewThread) error {
		return second(f.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: thread}))
	}
	never, after := time.Date(292277, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)
	long := strings.Repeat("k", maxKey+1)
	for name, row := range map[string]struct {
		err  error
		code pluginsdk.Code
		word string
	}{
		"event of another":        {event("pipeline:complete", ""), pluginsdk.CodeDenied, "p:"},
		"event not JSON":          {event("p:x", "{"), pluginsdk.CodeInvalid, "JSON"},
		"event too large":         {event("p:x", `"`+strings.Repeat("x", maxEventData)+`"`), pluginsdk.CodeExhausted, "262144"},
		"empty state key":         {put("", 0), pluginsdk.CodeInvalid, "key"},
		"long state key":          {put(long, 0), pluginsdk.CodeInvalid, "key"},
		"large state":             {put("k", maxStateValue+1), pluginsdk.CodeExhausted, "1048576"},
		"second primary":          {create(pluginsdk.NewThread{Source: "p", SourceID: "1", Kind: pluginsdk.ThreadPrimary}), pluginsdk.CodeInvalid, "kind"},
		"thread of nobody":        {create(pluginsdk.NewThread{Source: "p"}), pluginsdk.CodeInvalid, "sourceId"},
		"cron without a schedule": {cron(pluginsdk.CronSpec{Timezone: "UTC"}), pluginsdk.CodeInvalid, "schedule"},
		"cron on the moon":        {cron(pluginsdk.CronSpec{Schedule: "* * * * *", Timezone: "Moon/Base"}), pluginsdk.CodeInvalid, "Moon/Base"},
		"cron after the end":      {cron(pluginsdk.CronSpec{FireAt: never}), pluginsdk.CodeInvalid, "292277"},
		"cron to nobody":          {cron(pluginsdk.CronSpec{Schedule: "* * * * *", ReportTo: pluginsdk.Target{Plugin: "nobody", Place: "x"}}), pluginsdk.CodeInvalid, "nobody"},
		"cron to a mute plugin":   {cron(pluginsdk.CronSpec{Schedule: "* * * * *", ReportTo: pluginsdk.Target{Plugin: "mute", Place: "x"}}), pluginsdk.CodeInvalid, "Deliver"},
		"cron to no plugin":       {cron(pluginsdk.CronSpec{Schedule: "* * * * *", ReportTo: pluginsdk.Target{Place: "x"}}), pluginsdk.CodeInvalid, "reportTo"},
		"report of another time":  {second(f.Crons.Report(ctx, &pluginsdk.ReportCronRequest{Name: "x", Status: pluginsdk.CronStatus{LastRun: after}})), pluginsdk.CodeInvalid, "lastRun"},
		"report for another time": {second(f.Crons.Report(ctx, &pluginsdk.ReportCronRequest{Name: "x", Status: pluginsdk.CronStatus{NextRun: never}})), pluginsdk.CodeInvalid, "nextRun"},
		"metric of another time":  {record(pluginsdk.NewMetric{Name: "x", At: after}), pluginsdk.CodeInvalid, "metrics[0]"},
		"many metrics":            {record(make([]pluginsdk.NewMetric, maxMetrics+1)...), pluginsdk.CodeExhausted, "1000"},
		"many rows":               {f.append(ctx, "mine", slices.Repeat(text, maxRows+1)...), pluginsdk.CodeExhausted, "1000"},
		"large rows": {f.append(ctx, "mine", pluginsdk.NewMessage{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText,
			Content: strings.Repeat("x", maxRowsBytes+1)}), pluginsdk.CodeExhausted, "4194304"},
		"long key":      {second(f.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{ThreadID: "mine", Key: long, Messages: text})), pluginsdk.CodeInvalid, "key"},
		"long task key": {second(f.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Key: long})), pluginsdk.CodeInvalid, "key"},
	} {
		refused(t, name, row.err, row.code, row.word)
	}
	if n := len(f.store.rows) + len(f.store.writes) + len(f.store.statuses) + len(f.store.measured) + len(f.room.tasks); n > 0 {
		t.Errorf("%d of what was refused was stored", n)
	}
}

func TestRegistryShowsNoSettingsAndTogglesAreAudited(t *testing.T) {
	f, ctx := newFixture(), t.Context()
	listed, err := f.Plugins.List(ctx, &pluginsdk.ListPluginsRequest{})
	if err != nil || len(listed.Plugins) != 2 || listed.Plugins[0].Name != "other" {
		t.Errorf("%+v %v", listed, err)
	}
	if _, err := f.Plugins.SetEnabled(ctx, &pluginsdk.SetPluginEnabledRequest{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	refused(t, "a plugin with another's command", second(f.Plugins.SetEnabled(ctx, &pluginsdk.SetPluginEnabledRequest{Name: "rival", Enabled: true})),
		pluginsdk.CodeConflict)
	if !slices.Equal(f.store.audits, []string{"p turns other on: false"}) {
		t.Error(f.store.audits)
	}
	lines, err := f.Plugins.Logs(ctx, &pluginsdk.ReadPluginLogRequest{Name: "other"})
	if err != nil || len(lines.Lines) != 1 || lines.Lines[0].Text != "of other" {
		t.Errorf("%+v %v", lines, err)
	}
}

// State is each plugin's own, and a write says under what condition it is made.
func TestStateIsThePluginsOwn(t *testing.T) {
	f, ctx := newFixture(), t.Context()
	condition := &pluginsdk.StateCondition{Revision: 2}
	put, err := f.State.Put(ctx, &pluginsdk.PutStateRequest{Key: "k", Value: []byte("v"), If: condition})
	if err != nil || put.Revision != 1 {
		t.Errorf("%+v %v", put, err)
	}
	if _, err := f.api.For("q").State.Delete(ctx, &pluginsdk.DeleteStateRequest{Key: "k", If: condition}); err != nil {
		t.Error(err)
	}
	if w := f.store.writes; len(w) != 2 || w[0].Plugin != "p" || string(w[0].Value) != "v" || w[0].If != condition ||
		w[1].Plugin != "q" || !w[1].Delete || w[1].If != condition {
		t.Errorf("%+v", w)
	}
	got, err := f.State.Get(ctx, &pluginsdk.GetStateRequest{Key: "k"})
	if err != nil || got.Entry.Key != "p/k" || got.Entry.Revision != 3 {
		t.Errorf("%+v %v", got, err)
	}
	listed, err := f.State.List(ctx, &pluginsdk.ListStateRequest{Prefix: "pre"})
	if err != nil || len(listed.Entries) != 1 || listed.Entries[0].Key != "p/pre" || !listed.More {
		t.Errorf("%+v %v", listed, err)
	}
}

// What a job is, whether it is on, and what became of it are written apart.
func TestCronsAreWrittenInParts(t *testing.T) {
	f, ctx := newFixture(), t.Context()
	spec := pluginsdk.CronSpec{Name: "x", Schedule: "* * * * *", Timezone: "America/Phoenix", ReportTo: pluginsdk.Target{Plugin: "discord", Place: "general"}}
	saved, err := f.Crons.Save(ctx, &pluginsdk.SaveCronRequest{Spec: spec, Enabled: true})
	if err != nil || !reflect.DeepEqual(saved.Job.Spec, spec) || !saved.Job.Enabled || !saved.Existed {
		t.Errorf("%+v %v", saved, err)
	}
	off, err := f.Crons.SetEnabled(ctx, &pluginsdk.SetCronEnabledRequest{Name: "x"})
	if err != nil || off.Job.Enabled || off.Job.Spec.Name != "x" {
		t.Errorf("%+v %v", off, err)
	}
	told, err := f.Crons.Report(ctx, &pluginsdk.ReportCronRequest{Name: "x", Status: pluginsdk.CronStatus{LastRun: f.clock, LastResult: "ok"}})
	if err != nil || told.Job.Status.LastResult != "ok" {
		t.Errorf("%+v %v", told, err)
	}
}

func TestEventsAreListedFromAPosition(t *testing.T) {
	f := newFixture()
	after := pluginsdk.Position{Boot: "b", Seq: 7}
	page, err := f.Events.List(t.Context(), &pluginsdk.ListEventsRequest{After: after, Limit: 3})
	if err != nil || len(page.Events) != 3 || page.Next != (pluginsdk.Position{Boot: after.Boot, Seq: after.Seq + 3}) {
		t.Errorf("%+v %v", page, err)
	}
	if _, err := f.Events.Publish(t.Context(), &pluginsdk.PublishEventRequest{Type: "p:x"}); err != nil ||
		!slices.Equal(f.events.kinds, []pluginsdk.EventType{"p:x"}) {
		t.Errorf("%v %v", f.events.kinds, err)
	}
}

// What a process is told of is bounded, and who has named too much is told what.
func TestRulesOfEventsAreBounded(t *testing.T) {
	f := newFixture()
	var listened []pluginsdk.EventRule
	host := f.api.ForProcess("p", func(rules []pluginsdk.EventRule) (pluginsdk.Position, error) {
		listened = rules
		return pluginsdk.Position{Boot: "b", Seq: 7}, nil
	})
	answer, err := host.Events.Listen(t.Context(), &pluginsdk.ListenEventsRequest{Rules: []pluginsdk.EventRule{{Own: true}}})
	if err != nil || answer.Position.Seq != 7 || len(listened) != 1 || !listened[0].Own {
		t.Errorf("%+v %v: %v", answer, err, listened)
	}
	many := slices.Repeat([]string{"t"}, 600)
	for _, row := range []struct {
		rules []pluginsdk.EventRule
		want  string
	}{
		{make([]pluginsdk.EventRule, 65), "rules: at most 64, these are 65"},
		{[]pluginsdk.EventRule{{}, {Types: []string{"a*b"}}}, "rules[1]: type \"a*b\": want an event type, with * only at its end"},
		{[]pluginsdk.EventRule{{Threads: many}, {Threads: many}}, "threads: at most 1000 in all rules, these are 1200"},
		{[]pluginsdk.EventRule{{Types: many}, {Types: many}}, "types: at most 1000 in all rules, these are 1200"},
		{[]pluginsdk.EventRule{{ThreadKinds: []pluginsdk.ThreadKind{""}}}, "rules[0]: threadKinds: 1 to 256 bytes each, one has 0"},
		{[]pluginsdk.EventRule{{RunKinds: []pluginsdk.RunKind{pluginsdk.RunKind(strings.Repeat("x", 257))}}}, "rules[0]: runKinds: 1 to 256 bytes each, one has 257"},
	} {
		_, err := host.Events.Listen(t.Context(), &pluginsdk.ListenEventsRequest{Rules: row.rules})
		if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v, want %s", err, row.want)
		}
	}
	if len(listened) != 1 || !listened[0].Own {
		t.Errorf("rules that were refused hold: %v", listened)
	}
	if _, err := f.Events.Listen(t.Context(), &pluginsdk.ListenEventsRequest{}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("who has no process listens: %v", err)
	}
}
