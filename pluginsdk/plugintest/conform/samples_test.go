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
		s.manifest.PromptPrefix = !asks
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
			"prompt":                        s.prompt() != "",
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

// A plugin that carries messages is given some that ask: one that breaks on those would
// keep people from being asked.
func TestADeliveryAsks(t *testing.T) {
	s := newSample("may I?")
	s.manifest.Name = "p"
	plain, asks := s.delivery(), s.question()
	if plain.Approval != nil || asks.Approval == nil || asks.Approval.Title != "may I?" || len(asks.Approval.Choices) != 3 {
		t.Errorf("%+v, %+v", plain.Approval, asks.Approval)
	}
	if plain.Call.ID == asks.Call.ID || asks.Delivery.ID != asks.Call.ID {
		t.Errorf("the same delivery twice: %q, %q", plain.Call.ID, asks.Call.ID)
	}
}
