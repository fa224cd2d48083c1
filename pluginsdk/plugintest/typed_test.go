package plugintest_test

import (
	"context"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// flow is a plugin whose commands have a task go on: /settle for who may decide on tasks, /anybody
// for all.
type flow struct {
	host         pluginsdk.Host
	capabilities []pluginsdk.Capability
}

func (f *flow) Manifest() pluginsdk.Manifest {
	m := manifest("flow", f.capabilities...)
	m.Commands = []pluginsdk.CommandSpec{{Name: "settle", Description: "go on", Scope: pluginsdk.ScopeApprove}, {Name: "anybody", Description: "go on"}}
	return m
}

func (f *flow) Start(_ context.Context, host pluginsdk.Host) error {
	f.host = host
	return nil
}

func (f *flow) OnCommand(ctx context.Context, command *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	_, err := f.host.Tasks.Decide(ctx, &pluginsdk.DecideTaskRequest{ID: command.Body, Author: "nobody", Feedback: "port 80"})
	return &pluginsdk.OnCommandResponse{Handled: true}, err
}

// A plugin's tests must find that a person's command decides, and that nothing else does.
func TestAPersonsCommandDecidesOnATask(t *testing.T) {
	decides := func(t *testing.T, f *flow, change func(*pluginsdk.OnCommandRequest)) (*plugintest.Host, error) {
		t.Helper()
		host := plugintest.NewHost()
		plugin := host.Serve(t, f)
		for id, maker := range map[string]string{"mine": "flow", "its": "delegation"} {
			host.AddTask(pluginsdk.Task{ID: id, Plugin: maker, Status: pluginsdk.TaskWaiting, CurrentIteration: 1})
		}
		request := &pluginsdk.OnCommandRequest{
			Call: pluginsdk.Call{ID: "R:OnCommand:0:flow", RunID: "R"}, Origin: pluginsdk.FromPerson, Name: "settle", Body: "mine",
			Message: pluginsdk.Message{Author: "Ann", Plugin: "web", Scope: pluginsdk.ScopeApprove, Origin: pluginsdk.Origin{Token: "T"}},
		}
		if change != nil {
			change(request)
		}
		_, err := plugin.OnCommand(t.Context(), request)
		return host, err
	}
	makes := []pluginsdk.Capability{pluginsdk.CapTasksWrite}
	host, err := decides(t, &flow{capabilities: makes}, nil)
	if err != nil {
		t.Fatal(err)
	}
	history := must(host.SDK().Tasks.History(t.Context(), &pluginsdk.TaskHistoryRequest{ID: "mine"}))
	if len(history.Answers) != 1 || history.Answers[0].Author != "Ann" || history.Answers[0].Plugin != "flow" || history.Answers[0].Feedback != "port 80" || history.Answers[0].Origin.Token != "T" {
		t.Errorf("said of it: %+v", history.Answers)
	}
	for name, row := range map[string]struct {
		capabilities []pluginsdk.Capability
		change       func(*pluginsdk.OnCommandRequest)
	}{
		"the agent's":        {makes, func(r *pluginsdk.OnCommandRequest) { r.Origin = pluginsdk.FromAgent }},
		"nobody's":           {makes, func(r *pluginsdk.OnCommandRequest) { r.Message.Author = "" }},
		"a run's":            {makes, func(r *pluginsdk.OnCommandRequest) { r.Message.Origin.RunID = "R0" }},
		"who may only chat":  {makes, func(r *pluginsdk.OnCommandRequest) { r.Message.Scope = pluginsdk.ScopeChat }},
		"for anybody":        {makes, func(r *pluginsdk.OnCommandRequest) { r.Name = "anybody" }},
		"another's task":     {makes, func(r *pluginsdk.OnCommandRequest) { r.Body = "its" }},
		"the plugin's own":   {makes, func(r *pluginsdk.OnCommandRequest) { r.Message.Plugin = "flow" }},
		"without the grant":  {nil, nil},
		"the agent's, again": {[]pluginsdk.Capability{pluginsdk.CapTasksWrite, pluginsdk.CapTasksDecide}, func(r *pluginsdk.OnCommandRequest) { r.Origin = pluginsdk.FromAgent }},
	} {
		if host, err := decides(t, &flow{capabilities: row.capabilities}, row.change); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
			t.Errorf("%s: %v, want %s", name, err, pluginsdk.CodeDenied)
		} else if task := must(host.SDK().Tasks.Get(t.Context(), &pluginsdk.GetTaskRequest{ID: "mine"})).Task; task.Status != pluginsdk.TaskWaiting {
			t.Errorf("%s: it is %s", name, task.Status)
		}
	}
}
