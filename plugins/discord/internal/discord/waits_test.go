package discord

import (
	"testing"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/plugins/discord/internal/slash"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who asked for what gets no answer of its own does not wait for one.
func TestNobodyWaitsInVain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		event func(run pluginsdk.Run) (pluginsdk.EventType, any)
		want  string
	}{
		"merged": {func(run pluginsdk.Run) (pluginsdk.EventType, any) {
			return pluginsdk.EventPipelineMerged, pluginsdk.MergedPayload{ThreadID: run.ThreadID, RunID: run.ID, Into: "run-other"}
		}, "-# it is answered together with another message"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.offered(w.guild, "status")
			menu := w.discord.Menu(w.discord.Say(fake.Said{Channel: w.channel, Text: "x"}), "", slash.Ask)
			w.answered(menu)
			given := w.discord.Submit(menu, map[string]string{"said": "?"})
			run := w.run(1)
			w.noted(run.ID)
			kind, payload := test.event(run)
			w.tell(kind, run.ThreadID, payload)
			w.until("it is told", func() bool {
				of := w.discord.Interaction(given).Original
				return of != nil && of.Text == test.want
			})
			w.noBreach()
		})
	}
}
