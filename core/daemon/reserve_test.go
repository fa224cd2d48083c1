package daemon_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

const purserName = "purser"

// purser is a gate that sets 0.60 USD aside for each run, of 1 USD that there is.
type purser struct{}

func runPurser() { serve.Main(purser{}) }

func (purser) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: purserName, Version: "1.0.0"}
}

func (purser) OnBeforeRun(context.Context, *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	return &pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{{Account: "all", LimitUSD: 1, AmountUSD: 0.6}}}, nil
}

// Two runs at a time may not both spend what there is for one; who is denied is told
// why, and when the first is over, what it has not spent is there for the next.
func TestMoneyIsSetAsideOnce(t *testing.T) {
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t), purserName)
		in.demo(`[{"match":"take your time","delay":60000}]`)
		in.start()
		store := in.database()
		in.sql(`UPDATE plugins SET granted = '["turns.decide","turns.read"]', enabled = TRUE WHERE name = 'purser'`)
		in.until("the purser's serving", func() bool { return plugin(t, store, purserName).State == pluginsdk.PluginServing })
		watch, one, other := in.watch(), in.thread("one"), in.thread("other")

		long := in.chat(one, "take your time")
		in.until("the call of the agent", func() bool { return in.count("SELECT COUNT(*) FROM runs WHERE step = 'invoking'") == 1 })
		denied, _ := in.say(watch, other, "hello")
		said := "the limit of all (purser) is $1.00: $0.00 are spent, $0.60 are set aside for other runs, and this one would set $0.60 aside"
		if run := in.run(denied.RunID); run.State != pluginsdk.RunFailed || !strings.Contains(run.Error, said) {
			t.Errorf("the second run is %s: %s", run.State, run.Error)
		}
		if last := in.messages(other); !strings.Contains(last[len(last)-1].Content, "Not run: "+said) {
			t.Errorf("the person reads %q", last[len(last)-1].Content)
		}

		in.call(http.MethodPost, "/api/runs/"+long.RunID+"/cancel", nil, nil)
		watch.end(long.RunID)
		after, _ := in.say(watch, other, "hello")
		if run := in.run(after.RunID); run.State != pluginsdk.RunSucceeded {
			t.Errorf("after the first, a run is %s: %s", run.State, run.Error)
		}
	})
}
