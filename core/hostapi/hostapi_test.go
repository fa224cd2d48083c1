package hostapi

import (
	"context"
	"encoding/json"
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
	return []pluginsdk.PluginInfo{{Name: "other", Settings: []byte(`{"token":"secret"}`)}, {Name: "rival"}}, nil
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

func (grants) Logs(context.Context, string, int) ([]pluginsdk.LogLine, error) { return nil, nil }

func (grants) Conflict(plugin pluginsdk.PluginInfo, _ []pluginsdk.PluginInfo) error {
	if plugin.Name == "rival" {
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "/x is another's")
	}
	return nil
}

func (grants) SettingsOf(string) (json.RawMessage, bool) { return nil, false }

func (grants) Live(row pluginsdk.PluginInfo) pluginsdk.PluginInfo { return row }

type fixture struct {
	pluginsdk.Host
	store  *stub
	inbox  *submissions
	events *recorded
	tokens *Tokens
	set    *set
	api    *API
}

func newFixture(granted ...pluginsdk.Capability) *fixture {
	f := &fixture{store: &stub{}, inbox: &submissions{}, events: &recorded{}, tokens: NewTokens(), set: &set{}}
	f.api = New(f.store, f.inbox, outbox{}, f.events, grants(granted), f.tokens, f.set, nil, slog.New(slog.DiscardHandler))
	f.Host = f.api.For("p")
	return f
}

var rows = []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Content: "x"}}

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

// What a hook asks for counts only while its call lasts, and writes under the
// fence of its run.
func TestTokenEndsWithItsCall(t *testing.T) {
	f := newFixture(pluginsdk.CapMessagesWrite)
	fence := ledger.Fence{ThreadID: "T", Epoch: 7}
	token := f.tokens.Open("p", ledger.Origin{Fence: fence}, time.Now().Add(time.Hour))
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
	if err := f.api.Admit(ctx, "p", ""); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Errorf("what every plugin may do, after the call: %v", err)
	}
}

func TestTokenEndsWithTheDeadline(t *testing.T) {
	f := newFixture(pluginsdk.CapMessagesWrite)
	token := f.tokens.Open("p", ledger.Origin{Fence: ledger.Fence{ThreadID: "T"}}, time.Now())
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
	ctx := pluginsdk.WithCall(t.Context(), pluginsdk.Call{RunID: "R", Token: f.tokens.Open("p", ledger.Origin{RunID: "R"}, time.Now().Add(time.Hour))})
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
	if err := f.Plugins.SetEnabled(t.Context(), "rival", true); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict {
		t.Errorf("a plugin with another's command: %v", err)
	}
	if !slices.Equal(f.store.audits, []string{"plugin:p plugin.disable other"}) {
		t.Error(f.store.audits)
	}
}
