package discord

import (
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Nothing goes on showing a run that ended while Discord was away, when the process ended before
// Discord was back, and the next one finds the run over.
func TestARunThatEndsWhileDiscordIsAwayAndItsProcessEnds(t *testing.T) {
	t.Parallel()
	for how, want := range map[string][]string{"merged": {"One and two."}, "dropped": nil} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p := newPost(t, fake.Config{}, nil)
			p.connect()
			_, run := p.question("one?")
			_, over := p.question("two?")
			p.shows(p.parks(over))
			p.discord.Break(fake.Fault{Route: "GET /channels/*/messages/*", Kind: fake.FaultStatus, Status: 503})
			if how == "merged" {
				p.hear(event(pluginsdk.EventPipelineMerged, pluginsdk.MergedPayload{RunID: over, Into: run}))
				p.until("it is answered with the other one", func() bool { of, _ := p.inner.runs.cached(run); return len(of.Questions) == 2 })
				p.deliver(p.to(reply(run, "One and two.")))
				p.host.AddRun(pluginsdk.Run{ID: over, State: pluginsdk.RunMerged, MergedInto: run, FinishedAt: time.Now()})
			} else {
				p.hear(event(pluginsdk.EventPipelineError, pluginsdk.ErrorPayload{RunID: over, Error: "stopped by Ann"}))
				p.host.AddRun(pluginsdk.Run{ID: over, State: pluginsdk.RunFailed, FinishedAt: time.Now()})
			}
			p.until("it cannot be closed", func() bool {
				of, _ := p.inner.runs.cached(over)
				return of.Dropped != "" || how == "merged" && slices.ContainsFunc(p.discord.Requests(), func(r fake.Request) bool { return r.Method == http.MethodGet && r.Status == 503 })
			})
			p.disconnect(p.plugin)()
			p.inner.account.Store(&account{config: p.inner.account.Load().config, asked: new(atomic.Int64)}) // it says nothing any more
			p.discord.Mend()
			p.serve()
			p.connect()
			p.shows(want...)
		})
	}
}

// A run that ends while the plugin is down may end without a message of its own. Then the next
// process ends what is shown of it. If there is a message, its delivery does.
func TestARunThatEndsUnheard(t *testing.T) {
	t.Parallel()
	for how, said := range map[string]*pluginsdk.Message{
		"without a word":          nil,
		"with one":                {Kind: pluginsdk.MessageStatus, Source: "pipeline", Content: "Interrupted."},
		"with that of a plugin":   {Kind: pluginsdk.MessageStatus, Source: "pipeline", Content: "Interrupted.", Plugin: "courier"},
		"with words on its way":   {Kind: pluginsdk.MessageStatus, Source: "core", Content: "The session is gone."},
		"with a plugin's for all": {Kind: pluginsdk.MessageText, Source: "courier", Content: "Done.", Plugin: "courier"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			told := how == "with one"
			p := newPost(t, fake.Config{}, nil)
			p.connect()
			id, run := p.question("well?")
			line := p.parks(run)
			p.shows(line)
			// The process is killed before it notes what it has posted.
			if err := p.inner.runs.change(t.Context(), run, func(r *record) { r.Live, r.Parked = unknownLive, 0 }); err != nil {
				t.Fatal(err)
			}
			p.disconnect(p.plugin)()
			over, err := p.host.SDK().Runs.Cancel(t.Context(), &pluginsdk.CancelRunRequest{ID: run})
			if err != nil {
				t.Fatal(err)
			}
			if said != nil {
				said.ThreadID, said.RunID, said.Role = over.Run.ThreadID, run, pluginsdk.RoleSystem
				p.host.AddMessage(*said)
			}
			p.serve()
			p.connect()
			if !told {
				p.shows()
				p.reacts(id, failed)
				p.deliver(p.to(pluginsdk.Message{
					RunID: run, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Content: "Parked.", Metadata: []byte(`{"event":"pipeline_parked"}`),
				}))
				p.holds("after what is told of its wait too late")
				return
			}
			p.until("its record is looked at", func() bool { _, known := p.inner.runs.cached(run); return known })
			if err := p.inner.side.flush(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			p.holds("before the delivery", line)
			p.deliver(p.to(*said))
			p.shows("Interrupted.")
			p.reacts(id, failed)
		})
	}
}

// What becomes of a run is shown also on the messages that were merged into it while the plugin
// was down.
func TestMergedMessagesShowTheEndOfTheirAnswer(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	first, answers := p.question("one?")
	second, merged := p.question("two?")
	p.disconnect(p.plugin)()
	p.host.AddRun(pluginsdk.Run{ID: merged, State: pluginsdk.RunMerged, MergedInto: answers, FinishedAt: time.Now()})
	p.host.AddRun(pluginsdk.Run{ID: answers, State: pluginsdk.RunCancelled, Error: "stopped by Ann", FinishedAt: time.Now()})
	p.serve()
	p.connect()
	p.reacts(first, failed)
	p.reacts(second, failed)
}

// A process that takes over shows the run on in the same message.
func TestARunThatOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	for _, later := range []time.Duration{0, 10 * time.Minute} {
		p := newPost(t, fake.Config{IdentifyEvery: time.Millisecond}, nil)
		p.connect()
		id, run := p.question("well?")
		p.hear(p.host.BeginRun(run), delta(run, 0, "One,"))
		p.shows("One,\n-# … writing")
		p.discord.Advance(later)
		p.restart()
		p.until("the run is shown", func() bool { return p.inner.views.of(run) != nil })
		p.hear(delta(run, 10, "three"))
		p.shows("… three\n-# … writing")
		p.hear(block(run, "One, two, three."))
		p.shows("One, two, three.\n-# … writing")
		p.deliver(p.to(reply(run, "One, two, three.")))
		p.holds("in the end", "One, two, three.")
		p.reacts(id, done)
	}
}

// Events that were missed leave nothing behind: what is over is shown as over.
func TestEventsThatWereMissed(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	_, over := p.question("over?")
	_, runs := p.question("runs?")
	p.hear(p.host.BeginRun(over))
	p.until("the first is shown", func() bool { return p.inner.views.of(over) != nil })
	p.host.FinishRun(over, pluginsdk.InvokeResult{Text: "ok"})
	p.host.BeginRun(runs)
	p.hear(pluginsdk.Event{Type: pluginsdk.EventResync})
	p.until("what is over is not shown, what runs is", func() bool { return p.inner.views.of(over) == nil && p.inner.views.of(runs) != nil })
}
