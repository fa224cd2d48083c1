package hostapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func (f *fixture) record(t *testing.T, plugin string, rows int) error {
	t.Helper()
	values := slices.Repeat([]pluginsdk.NewMetric{{Name: "m"}}, rows)
	return second(f.api.For(plugin).Metrics.Record(t.Context(), &pluginsdk.RecordMetricsRequest{Metrics: values}))
}

// One plugin that records whatever it can would fill the disk and hold up every
// turn. It is told what it has used up, until when, and what an operator can do;
// the others go on.
func TestRowsAMinute(t *testing.T) {
	f := newFixture()
	f.limits.RowsPerMinute = 1000
	for range 2 {
		if err := f.record(t, "p", 500); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, "the row after the last", f.record(t, "p", 1), pluginsdk.CodeExhausted,
		"rows a minute", "1000", "try again at 2026-01-02T03:04:06Z", "harness plugin limits p --rows-per-minute N")
	refused(t, "half a minute's", f.record(t, "p", 500), pluginsdk.CodeExhausted, "2026-01-02T03:04:35Z")
	if err := f.record(t, "q", 1000); err != nil {
		t.Errorf("another plugin: %v", err)
	}
	f.clock = f.clock.Add(30 * time.Second)
	if err := f.record(t, "p", 500); err != nil {
		t.Errorf("at the time that it was told: %v", err)
	}
	refused(t, "right after", f.record(t, "p", 500), pluginsdk.CodeExhausted)
	if got := len(f.store.measured); got != 2500 {
		t.Errorf("%d rows were stored", got)
	}
	f.clock = f.clock.Add(time.Hour)
	if err := f.record(t, "p", 1000); err != nil {
		t.Errorf("an hour later: %v", err)
	}
	refused(t, "no more than a minute's is saved up", f.record(t, "p", 1), pluginsdk.CodeExhausted)
}

// What is more than a minute's at once can be asked for, or it never could be.
func TestMoreThanAMinutesAtOnceIsPaidBack(t *testing.T) {
	f := newFixture()
	f.limits.RowsPerMinute = 100
	if err := f.record(t, "p", 300); err != nil {
		t.Fatal(err)
	}
	refused(t, "in debt", f.record(t, "p", 1), pluginsdk.CodeExhausted, "2026-01-02T03:06:06Z")
	f.clock = f.clock.Add(2*time.Minute + time.Second)
	if err := f.record(t, "p", 1); err != nil {
		t.Error(err)
	}
}

func TestBytesAMinute(t *testing.T) {
	f := newFixture()
	f.limits.BytesPerMinute = 1 << 20
	row := pluginsdk.NewMessage{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Content: strings.Repeat("x", 1<<20-1000)}
	if err := f.append(t.Context(), "mine", row); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"rows":    f.append(t.Context(), "mine", row),
		"state":   second(f.State.Put(t.Context(), &pluginsdk.PutStateRequest{Key: "k", Value: make([]byte, 1000)})),
		"threads": f.create(t, pluginsdk.NewThread{Source: "p", SourceID: "1", Name: strings.Repeat("n", 1000)}),
	} {
		refused(t, name, err, pluginsdk.CodeExhausted, "bytes a minute", "1048576", "try again at 2026-01-02T03:", "--bytes-per-minute N")
	}
	// To delete takes no bytes, so that there is a way back.
	if _, err := f.State.Delete(t.Context(), &pluginsdk.DeleteStateRequest{Key: "k"}); err != nil {
		t.Error(err)
	}
}

// What a plugin may keep in all is read from the database: what is pruned there can
// be stored anew.
func TestBytesInAll(t *testing.T) {
	f := newFixture()
	f.limits.StoredBytes, f.stored["p"] = 1<<20, 1<<20-1000
	put := func(size int) error {
		return second(f.State.Put(t.Context(), &pluginsdk.PutStateRequest{Key: "k", Value: make([]byte, size)}))
	}
	if err := put(700); err != nil {
		t.Fatal(err)
	}
	f.stored["p"] = 2 << 20
	f.clock = f.clock.Add(storedGood)
	f.reads = 0
	for range 10 {
		refused(t, "more than is left", put(700), pluginsdk.CodeExhausted, "bytes in all", "1048576", "try again", "--stored N")
	}
	if f.reads != 1 {
		t.Errorf("refusals have the database count %d times in an instant", f.reads)
	}
	if err := second(f.State.Delete(t.Context(), &pluginsdk.DeleteStateRequest{Key: "k"})); err != nil {
		t.Errorf("what makes room: %v", err)
	}
	f.stored["p"] = 0
	f.clock = f.clock.Add(storedRefuses)
	if err := put(700); err != nil {
		t.Errorf("after it was pruned: %v", err)
	}
}

// A database that is away must not look like a quota.
func TestAQuotaThatCannotBeReadRefusesNothing(t *testing.T) {
	q := NewQuotas(QuotaConfig{
		StoredBytes: func(context.Context, string) (int64, error) { return 0, errors.New("connection refused") },
		Log:         slog.New(slog.DiscardHandler),
	})
	if err := q.Effects(t.Context(), "p", 1, 1000); err != nil {
		t.Error(err)
	}
}

// A plugin that has used up its calls can still submit what people write.
func TestCallsAMinuteAndWhatIsNotInThem(t *testing.T) {
	f, ctx := newFixture(pluginsdk.CapMessagesSubmit), t.Context()
	f.limits.CallsPerMinute, f.shipped = 3, true
	get := func() error { return second(f.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: "R"})) }
	for range 3 {
		if err := get(); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, "a fourth", get(), pluginsdk.CodeExhausted, "calls a minute", "3", "2026-01-02T03:04:25Z", "harness plugin limits p --calls-per-minute N")
	for range 3 {
		if err := second(f.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{Content: "x"}})); err != nil {
			t.Fatal(err)
		}
	}
	f.clock = f.clock.Add(20 * time.Second)
	if err := get(); err != nil {
		t.Error(err)
	}
	f.limits.CallsPerMinute = -1 // no limit
	for range 100 {
		if err := get(); err != nil {
			t.Fatal(err)
		}
	}
}

// What nobody has set must not be felt: a hundred people who open the dashboard at
// once, and a plugin that notes all that an agent does.
func TestTheDefaultsAreNotFelt(t *testing.T) {
	f := newFixture()
	for range 100 * 50 {
		if _, err := f.Threads.List(t.Context(), &pluginsdk.ListThreadsRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 {
		if err := f.api.Quotas.Effects(t.Context(), "p", 10, 4096); err != nil {
			t.Fatal(err)
		}
	}
}

// What hooks return is stored too, and counts with what the plugin asks to store.
func TestEffectsCountInTheSameQuotas(t *testing.T) {
	f := newFixture()
	f.limits.RowsPerMinute, f.limits.BytesPerMinute = 10, 10_000
	if err := f.record(t, "p", 6); err != nil {
		t.Fatal(err)
	}
	refused(t, "too many rows", f.api.Quotas.Effects(t.Context(), "p", 5, 10), pluginsdk.CodeExhausted, "rows a minute")
	refused(t, "too many bytes", f.api.Quotas.Effects(t.Context(), "p", 1, 10_000), pluginsdk.CodeExhausted, "bytes a minute")
	if err := f.api.Quotas.Effects(t.Context(), "p", 4, 10); err != nil {
		t.Errorf("what was refused took nothing: %v", err)
	}
	refused(t, "a row after the effects", f.record(t, "p", 1), pluginsdk.CodeExhausted)
}

// The operator finds the plugin that is held back in the log, and does not find
// nothing else there.
func TestWhoIsHeldBackIsNamedInTheLog(t *testing.T) {
	f := newFixture()
	f.limits.RowsPerMinute, f.limits.CallsPerMinute = 1, 200
	for range 300 {
		_ = f.record(t, "p", 1)
	}
	lines := strings.Split(strings.TrimSpace(f.log.String()), "\n")
	if len(lines) != 1 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0], "plugin=p") ||
		!strings.Contains(lines[0], `refused="rows a minute: 1"`) {
		t.Errorf("logged:\n%s", f.log.String())
	}
	f.clock = f.clock.Add(heldBackEvery)
	_ = f.record(t, "p", 1)
	_ = f.record(t, "p", 1)
	lines = strings.Split(strings.TrimSpace(f.log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], `refused="calls a minute: 100, rows a minute: 199"`) {
		t.Errorf("logged:\n%s", f.log.String())
	}
	if _, heldBack := f.api.Figures("p"); heldBack != 300 {
		t.Errorf("held back %d times", heldBack)
	}
	if _, heldBack := f.api.Figures("q"); heldBack != 0 {
		t.Errorf("another was held back %d times", heldBack)
	}
}

// What a plugin costs the core is found by what it calls.
func TestFiguresOfTheCallsOfTheHost(t *testing.T) {
	f, ctx := newFixture(), t.Context()
	for n := range 3 {
		if _, err := f.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: fmt.Sprint(n)}); err != nil {
			t.Fatal(err)
		}
	}
	_ = f.append(ctx, "mine", pluginsdk.NewMessage{})
	_ = second(f.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{}))
	calls, _ := f.api.Figures("p")
	for method, want := range map[string][2]int64{"Runs.Get": {3, 0}, "Messages.Append": {1, 1}, "Messages.Submit": {1, 0}} {
		if got := calls[method]; got.Calls != want[0] || got.Errors != want[1] || got.P50 <= 0 || got.P99 < got.P50 {
			t.Errorf("%s: %+v", method, got)
		}
	}
	if len(calls) != 3 {
		t.Errorf("figures %v", calls)
	}
	if calls, _ := f.api.Figures("q"); len(calls) > 0 {
		t.Errorf("another has called %v", calls)
	}
}

// A plugin that submits whatever it can makes a turn of each message, which somebody pays for,
// and everybody's messages wait behind them. Who carries what people write is told when to try
// again, so that no message is lost.
func TestMessagesAMinute(t *testing.T) {
	f := newFixture(pluginsdk.CapMessagesSubmit)
	say := func(size int) error {
		return second(f.Messages.Submit(t.Context(), &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{Content: strings.Repeat("x", size)}}))
	}
	for range 600 {
		if err := say(10); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, "one more", say(10), pluginsdk.CodeExhausted, "messages a minute", "600", "try again at 2026-01-02T03:04:06Z", "harness plugin limits p --calls-per-minute N")
	f.clock = f.clock.Add(time.Second)
	if err := say(10); err != nil {
		t.Errorf("when it was told: %v", err)
	}
	f.clock = f.clock.Add(time.Hour)
	sent := 0
	for say(1<<20) == nil {
		sent++
	}
	if sent != 16 {
		t.Errorf("%d messages of 1 MiB in an instant", sent)
	}
	refused(t, "many bytes", say(1<<20), pluginsdk.CodeExhausted, "bytes of messages a minute", "--bytes-per-minute N")
	if err := say(10); err == nil {
		t.Error("a small one behind the large ones")
	}

	f.clock = f.clock.Add(time.Hour)
	f.limits.CallsPerMinute, f.limits.BytesPerMinute = -1, -1
	for range 2000 {
		if err := say(1 << 10); err != nil {
			t.Fatalf("without a limit: %v", err)
		}
	}
	f.limits.CallsPerMinute, f.limits.BytesPerMinute = 10, 0
	f.clock = f.clock.Add(time.Hour)
	if err := say(1); err != nil {
		t.Errorf("at least one a minute: %v", err)
	}
	refused(t, "a second", say(1), pluginsdk.CodeExhausted, "messages a minute")

	f.limits, f.shipped = pluginsdk.PluginLimits{}, true
	f.clock = f.clock.Add(time.Hour)
	for range 2000 {
		if err := say(10); err != nil {
			t.Fatalf("what comes with Harness brings people's messages: %v", err)
		}
	}
}
