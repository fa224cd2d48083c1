package plugintest_test

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// tidy puts two keys.
type tidy struct{ asks }

func (*tidy) Manifest() pluginsdk.Manifest { return manifest("tidy", pluginsdk.CapState) }

// A plugin that was killed must neither do more, nor what it had not come to.
func TestAPluginIsKilledAtACall(t *testing.T) {
	for _, row := range []struct {
		at   plugintest.Death
		want int
		died bool
	}{
		{plugintest.Death{Call: 1}, 0, true},
		{plugintest.Death{Call: 1, CarriedOut: true}, 1, true},
		{plugintest.Death{Call: 2}, 1, true},
		{plugintest.Death{Call: 3}, 2, false},
	} {
		host, author := plugintest.NewHost(), new(tidy)
		plugin := host.ServeUntil(t, author, row.at)
		for _, key := range []string{"a", "b"} {
			_, err := author.host.State.Put(t.Context(), &pluginsdk.PutStateRequest{Key: key})
			if err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeCancelled {
				t.Error(err)
			}
		}
		if got := len(host.State("tidy")); got != row.want || plugin.Died() != row.died {
			t.Errorf("%+v: it has done %d, died: %v", row.at, got, plugin.Died())
		}
	}
}
