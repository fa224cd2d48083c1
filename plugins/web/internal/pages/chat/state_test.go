package chat

import (
	"testing"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A command beside the thread waits behind nothing, and nothing waits behind it.
func TestACommandBesideTheThreadIsNotInItsQueue(t *testing.T) {
	turn := api.Run{ID: "turn", MessageID: 1, Kind: pluginsdk.RunMessage, State: pluginsdk.RunRunning}
	beside := api.Run{ID: "beside", MessageID: 2, Kind: pluginsdk.RunCommand, State: pluginsdk.RunQueued, Beside: true}
	message := api.Run{ID: "message", MessageID: 3, Kind: pluginsdk.RunMessage, State: pluginsdk.RunQueued}
	if now := stateOf([]api.Run{turn, beside, message}); now.Run.ID != "turn" || now.Waiting != 1 || now.Marks[2] != "" || now.Marks[3] != "waits" {
		t.Errorf("the state is %+v", now)
	}
	if now := stateOf([]api.Run{beside}); now.Phase != resting {
		t.Errorf("with nothing but such a command it is %+v", now)
	}
}
