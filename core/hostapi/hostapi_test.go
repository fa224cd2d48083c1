package hostapi

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// stub is a Store of which these tests use the writes of messages and state.
type stub struct {
	Store
	fences  []*ledger.Fence
	sources []string
	audits  []string
}

func (s *stub) Append(_ context.Context, fence *ledger.Fence, threadID, _, source string, rows []pluginsdk.NewMessage) ([]pluginsdk.Message, error) {
	s.fences = append(s.fences, fence)
	s.sources = append(s.sources, source)
	return make([]pluginsdk.Message, len(rows)), nil
}

func (s *stub) Deliveries(_ context.Context, query pluginsdk.DeliveryQuery) ([]pluginsdk.Delivery, error) {
	return []pluginsdk.Delivery{{ID: "D", State: query.State}}, nil
}

func (s *stub) PutState(context.Context, string, string, []byte) error { return nil }

func (s *stub) SetPluginEnabled(context.Context, string, bool) error { return nil }

func (s *stub) Audit(_ context.Context, who, action, target, _ string) error {
	s.audits = append(s.audits, who+" "+action+" "+target)
	return nil
}

func (s *stub) Plugins(context.Context) ([]pluginsdk.PluginInfo, error) {
	return []pluginsdk.PluginInfo{{Name: "other", Settings: []byte(`{"token":"secret"}`)}}, nil
}

type submissions []pluginsdk.Submission

func (s *submissions) Submit(_ context.Context, submission pluginsdk.Submission) (pluginsdk.Accepted, error) {
	*s = append(*s, submission)
	return pluginsdk.Accepted{}, nil
}

func (*submissions) Cancel(context.Context, string) (pluginsdk.Run, error) {
	return pluginsdk.Run{}, nil
}

func (*submissions) Retry(_ context.Context, runID string) (pluginsdk.Accepted, error) {
	return pluginsdk.Accepted{RunID: "again " + runID}, nil
}

func (*submissions) StopThread(_ context.Context, threadID string, queue pluginsdk.Queue) (pluginsdk.Stopped, error) {
	return pluginsdk.Stopped{RunID: threadID + " " + string(queue)}, nil
}

type outbox struct{}

func (outbox) Retry(_ context.Context, id string) (pluginsdk.Delivery, error) {
	return pluginsdk.Delivery{ID: id, State: pluginsdk.DeliveryPending}, nil
}

type recorded struct{ kinds []pluginsdk.EventType }

func (r *recorded) Publish(kind pluginsdk.EventType, _ string, _ any) {
	r.kinds = append(r.kinds, kind)
}
func (r *recorded) Relay(event pluginsdk.Event) { r.kinds = append(r.kinds, event.Type) }
func (*recorded) Since(pluginsdk.Position, int) pluginsdk.EventPage {
	return pluginsdk.EventPage{}
}

type grants []pluginsdk.Capability

func (g grants) Granted(_ string, capability pluginsdk.Capability) bool {
	return slices.Contains(g, capability)
}

type fixture struct {
	pluginsdk.Host
	store  *stub
	inbox  *submissions
	events *recorded
	tokens *Tokens
	api    *API
}

func newFixture(granted ...pluginsdk.Capability) *fixture {
	f := &fixture{store: &stub{}, inbox: &submissions{}, events: &recorded{}, tokens: NewTokens()}
	f.api = New(f.store, f.inbox, outbox{}, f.events, grants(granted), f.tokens, slog.New(slog.DiscardHandler))
	f.Host = f.api.For("p")
	return f
}

var rows = []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Content: "x"}}

// Default deny: without a grant nothing is read, written or sent.
func TestEveryServiceNeedsItsGrant(t *testing.T) {
	f := newFixture()
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"Threads.Get":        func() error { _, err := f.Threads.Get(ctx, "T"); return err },
		"Threads.List":       func() error { _, err := f.Threads.List(ctx, pluginsdk.ThreadQuery{}); return err },
		"Threads.Create":     func() error { _, err := f.Threads.Create(ctx, pluginsdk.NewThread{}); return err },
		"Threads.Update":     func() error { _, err := f.Threads.Update(ctx, "T", pluginsdk.ThreadPatch{}); return err },
		"Messages.Submit":    func() error { _, err := f.Messages.Submit(ctx, pluginsdk.Submission{}); return err },
		"Messages.Append":    func() error { _, err := f.Messages.Append(ctx, "T", "k", rows); return err },
		"Messages.List":      func() error { _, err := f.Messages.List(ctx, pluginsdk.MessageQuery{}); return err },
		"Runs.Get":           func() error { _, err := f.Runs.Get(ctx, "R"); return err },
		"Runs.List":          func() error { _, err := f.Runs.List(ctx, pluginsdk.RunQuery{}); return err },
		"Runs.Cancel":        func() error { _, err := f.Runs.Cancel(ctx, "R"); return err },
		"Runs.Retry":         func() error { _, err := f.Runs.Retry(ctx, "R"); return err },
		"Runs.Stop":          func() error { _, err := f.Runs.Stop(ctx, "T", pluginsdk.KeepQueue); return err },
		"Deliveries.List":    func() error { _, err := f.Deliveries.List(ctx, pluginsdk.DeliveryQuery{}); return err },
		"Deliveries.Retry":   func() error { _, err := f.Deliveries.Retry(ctx, "D"); return err },
		"Tasks.Create":       func() error { _, err := f.Tasks.Create(ctx, "k", pluginsdk.NewTask{}); return err },
		"Tasks.Get":          func() error { _, err := f.Tasks.Get(ctx, "k"); return err },
		"Tasks.List":         func() error { _, err := f.Tasks.List(ctx, pluginsdk.TaskQuery{}); return err },
		"Tasks.Update":       func() error { _, err := f.Tasks.Update(ctx, "k", pluginsdk.TaskPatch{}); return err },
		"Events.Publish":     func() error { return f.Events.Publish(ctx, pluginsdk.Event{Type: "p:x"}) },
		"Events.Since":       func() error { _, err := f.Events.Since(ctx, pluginsdk.Position{}, 0); return err },
		"State.Get":          func() error { _, err := f.State.Get(ctx, "k"); return err },
		"State.Put":          func() error { return f.State.Put(ctx, "k", nil) },
		"State.Delete":       func() error { return f.State.Delete(ctx, "k") },
		"State.Keys":         func() error { _, err := f.State.Keys(ctx, ""); return err },
		"Crons.Save":         func() error { _, err := f.Crons.Save(ctx, pluginsdk.CronJob{}); return err },
		"Crons.List":         func() error { _, err := f.Crons.List(ctx); return err },
		"Crons.Delete":       func() error { return f.Crons.Delete(ctx, "x") },
		"Metrics.Record":     func() error { return f.Metrics.Record(ctx, nil) },
		"Metrics.Query":      func() error { _, err := f.Metrics.Query(ctx, pluginsdk.MetricQuery{}); return err },
		"Plugins.List":       func() error { _, err := f.Plugins.List(ctx); return err },
		"Plugins.SetEnabled": func() error { return f.Plugins.SetEnabled(ctx, "x", true) },
	} {
		if err := call(); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a hook asks for counts only while its call lasts, and writes under the
// fence of its run.
func TestTokenEndsWithItsCall(t *testing.T) {
	f := newFixture(pluginsdk.CapMessagesWrite)
	fence := ledger.Fence{ThreadID: "T", Epoch: 7}
	token := f.tokens.Open("p", fence, time.Now().Add(time.Hour))
	ctx := pluginsdk.WithCall(t.Context(), pluginsdk.Call{ID: "R:x", RunID: "R", Token: token})
	if _, err := f.Messages.Append(ctx, "T", "k", rows); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Messages.Append(ctx, "another thread", "k", rows); err != nil {
		t.Fatal(err)
	}
	if f.store.fences[0] == nil || *f.store.fences[0] != fence || f.store.fences[1] != nil {
		t.Errorf("fences %v", f.store.fences)
	}
	stolen := f.api.For("q")
	if _, err := stolen.Messages.Append(ctx, "T", "k", rows); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Errorf("another plugin's token: %v", err)
	}
	f.tokens.Close(token)
	if _, err := f.Messages.Append(ctx, "T", "k", rows); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Errorf("after the call: %v", err)
	}
	if _, err := f.Settings.Get(ctx); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Errorf("settings after the call: %v", err)
	}
}

func TestTokenEndsWithTheDeadline(t *testing.T) {
	f := newFixture(pluginsdk.CapMessagesWrite)
	token := f.tokens.Open("p", ledger.Fence{ThreadID: "T"}, time.Now())
	ctx := pluginsdk.WithCall(t.Context(), pluginsdk.Call{ID: "R:x", Token: token})
	if _, err := f.Messages.Append(ctx, "T", "k", rows); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Errorf("at the deadline: %v", err)
	}
}

func TestRowsOutsideOfARunAreBroadcast(t *testing.T) {
	f := newFixture(pluginsdk.CapMessagesWrite)
	if _, err := f.Messages.Append(t.Context(), "T", "k", rows); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.events.kinds, []pluginsdk.EventType{pluginsdk.EventMessageAppended}) || f.store.sources[0] != "p" {
		t.Errorf("%v %v", f.events.kinds, f.store.sources)
	}
}

// A plugin speaks for itself; only web relays the terminal.
func TestSourceOfASubmission(t *testing.T) {
	f := newFixture(pluginsdk.CapMessagesSend)
	web := f.api.For("web")
	for _, host := range []pluginsdk.Host{f.Host, web} {
		for _, source := range []string{"cli", "discord"} {
			if _, err := host.Messages.Submit(t.Context(), pluginsdk.Submission{Source: source}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got []string
	for _, s := range *f.inbox {
		got = append(got, s.Source)
	}
	if want := []string{"p", "p", "cli", "web"}; !slices.Equal(got, want) {
		t.Errorf("sources %v, want %v", got, want)
	}
	ctx := pluginsdk.WithCall(t.Context(), pluginsdk.Call{RunID: "R", Token: f.tokens.Open("p", ledger.Fence{}, time.Now().Add(time.Hour))})
	if _, err := f.Messages.Submit(ctx, pluginsdk.Submission{}); err != nil || (*f.inbox)[4].CauseRunID != "R" {
		t.Errorf("cause %q, %v", (*f.inbox)[4].CauseRunID, err)
	}
}

func TestRubbishIsNamed(t *testing.T) {
	f := newFixture(pluginsdk.CapEventsPublish, pluginsdk.CapState, pluginsdk.CapCronsWrite, pluginsdk.CapThreadsWrite)
	ctx := t.Context()
	for name, row := range map[string]struct {
		err  error
		code pluginsdk.Code
	}{
		"event of another":        {f.Events.Publish(ctx, pluginsdk.Event{Type: "pipeline:complete"}), pluginsdk.CodeDenied},
		"event not JSON":          {f.Events.Publish(ctx, pluginsdk.Event{Type: "p:x", Data: []byte("{")}), pluginsdk.CodeInvalid},
		"event too large":         {f.Events.Publish(ctx, pluginsdk.Event{Type: "p:x", Data: []byte(`"` + strings.Repeat("x", maxEventData) + `"`)}), pluginsdk.CodeExhausted},
		"core's own key":          {second(newFixture(pluginsdk.CapMessagesWrite).Messages.Append(ctx, "T", "R:reply", rows)), pluginsdk.CodeInvalid},
		"empty state key":         {f.State.Put(ctx, "", nil), pluginsdk.CodeInvalid},
		"large state":             {f.State.Put(ctx, "k", make([]byte, maxStateValue+1)), pluginsdk.CodeExhausted},
		"second primary":          {second(f.Threads.Create(ctx, pluginsdk.NewThread{Kind: pluginsdk.ThreadPrimary})), pluginsdk.CodeInvalid},
		"cron without a schedule": {second(f.Crons.Save(ctx, pluginsdk.CronJob{Name: "x", Timezone: "UTC"})), pluginsdk.CodeInvalid},
		"cron on the moon":        {second(f.Crons.Save(ctx, pluginsdk.CronJob{Name: "x", Schedule: "* * * * *", Timezone: "Moon/Base"})), pluginsdk.CodeInvalid},
	} {
		if pluginsdk.CodeOf(row.err) != row.code {
			t.Errorf("%s: %v", name, row.err)
		}
	}
}

func TestPagesAreBoundedInBytes(t *testing.T) {
	large := func(id int64) pluginsdk.Message {
		return pluginsdk.Message{ID: id, Content: strings.Repeat("x", maxPage/2-10)}
	}
	rows := []pluginsdk.Message{large(1), large(2), large(3)}
	if got := page(rows, false); len(got) != 2 || got[0].ID != 1 {
		t.Errorf("%d rows from the front", len(got))
	}
	if got := page(rows, true); len(got) != 2 || got[1].ID != 3 {
		t.Errorf("%d rows from the end", len(got))
	}
	if got := page([]pluginsdk.Message{{Content: strings.Repeat("x", 2*maxPage)}}, false); len(got) != 1 {
		t.Error("a row that is larger than a page is never seen")
	}
}

func second[T any](_ T, err error) error { return err }

func TestRegistryShowsNoSettingsAndTogglesAreAudited(t *testing.T) {
	f := newFixture(pluginsdk.CapPluginsRead, pluginsdk.CapPluginsAdmin)
	infos, err := f.Plugins.List(t.Context())
	if err != nil || infos[0].Settings != nil {
		t.Errorf("%+v %v", infos, err)
	}
	if err := f.Plugins.SetEnabled(t.Context(), "other", false); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.store.audits, []string{"plugin:p plugin.disable other"}) {
		t.Error(f.store.audits)
	}
}
