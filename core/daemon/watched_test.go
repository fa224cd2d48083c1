package daemon

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pipeline"
	"github.com/seed-706843ae/harness/core/store/storetest"
	contextfiles "github.com/seed-706843ae/harness/core/workspace"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// scribbler is an agent that writes into a file in the turn of one run, while the turn of another is at work.
type scribbler struct {
	pipeline.Agent

	path       string
	both, done chan struct{}
}

func (s scribbler) Invoke(_ context.Context, request ledger.AgentRequest, _ func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
	if request.RunID == "beside" {
		close(s.both)
		<-s.done
		return pluginsdk.InvokeResult{}
	}
	<-s.both
	err := os.WriteFile(s.path, []byte("noted"), 0o600)
	if err != nil {
		return pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Message: err.Error()}}
	}
	return pluginsdk.InvokeResult{}
}

// Whose a change of the workspace is, is known although a turn without tools is at work beside it, such as one that
// summarises; a turn that could have made the change leaves it in doubt.
func TestATurnWithoutToolsPutsNoChangeInDoubt(t *testing.T) {
	for name, row := range map[string]struct {
		disallowed []string
		want       string
	}{
		"without tools": {writers, "noted"}, "with one": {slices.Clone(writers)[1:], ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "context"), 0o700); err != nil {
				t.Fatal(err)
			}
			room := contextfiles.New(contextfiles.Config{Dir: dir}, storetest.Open(t))
			if _, err := room.List(t.Context()); err != nil {
				t.Fatal(err)
			}
			agent := watchedAgent{scribbler{path: filepath.Join(dir, "context", "inbox.md"), both: make(chan struct{}), done: make(chan struct{})}, room}
			over := make(chan struct{})
			go func() {
				defer close(over)
				agent.Invoke(t.Context(), ledger.AgentRequest{RunID: "beside", DisallowedTools: row.disallowed}, nil)
			}()
			if result := agent.Invoke(t.Context(), ledger.AgentRequest{RunID: "noted"}, nil); result.Failure != nil {
				t.Fatal(result.Failure)
			}
			changes, err := room.History(t.Context(), pluginsdk.WorkspaceHistoryRequest{})
			if err != nil || len(changes) != 1 || changes[0].Kind != pluginsdk.ChangeByAgent || changes[0].RunID != row.want {
				t.Errorf("%+v, %v; want the run %q", changes, err, row.want)
			}
			close(agent.Agent.(scribbler).done)
			<-over
		})
	}
}
