package conform

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A plugin is examined with what the daemon would give it: a part that it did not
// ask for is not there, and one that it asked for is.
func TestSamplesHaveThePartsThatTheManifestAsksFor(t *testing.T) {
	for _, asks := range []bool{false, true} {
		s := newSample("hello")
		if asks {
			s.manifest.Needs = map[pluginsdk.Hook][]pluginsdk.Part{}
			for _, spec := range pluginsdk.Hooks() {
				s.manifest.Needs[spec.Hook] = spec.Parts
			}
		}
		complete, invocation := s.complete(), s.invocation()
		for what, there := range map[string]bool{
			"message of OnPipelineStart":    s.messageFor(pluginsdk.HookPipelineStart).Content != "",
			"message of OnPipelineComplete": complete.Message.Content != "",
			"events":                        complete.Events != nil,
			"steps":                         complete.Steps != nil,
			"message of OnAfterInvoke":      invocation.Message.Content != "",
			"result":                        invocation.Result.Text != "",
		} {
			if there != asks {
				t.Errorf("asked for: %v; the %s is there: %v", asks, what, there)
			}
		}
	}
}
