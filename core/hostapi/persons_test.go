package hostapi

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// anybodys are the methods that hooks and tools of runs and tasks may call, too: they read,
// they write in the plugin's own name, they start what is asked about by itself, or they only
// take leave away. A new method stands here or in personal.
var anybodys = []string{
	"Accounts.List", "Accounts.Rights",
	"Agent.Cancel", "Agent.Start", "Agent.Wait",
	"Approvals.Get", "Approvals.List", "Approvals.Revoke", "Approvals.Rules",
	"Budgets.Account", "Budgets.CountSpent", "Budgets.Recheck",
	"Commands.List",
	"Crons.Ask", "Crons.Delete", "Crons.Fire", "Crons.Fires", "Crons.List", "Crons.Report", "Crons.Save", "Crons.SetEnabled",
	"Deliveries.List", "Deliveries.Retry",
	"Events.List", "Events.Listen", "Events.Publish",
	"Files.Begin", "Files.Commit", "Files.Delete", "Files.Get", "Files.List", "Files.Read", "Files.Write",
	"Installation.Audit", "Installation.Backups", "Installation.Doctor", "Installation.Pause", "Installation.Usage",
	"Messages.Amend", "Messages.Append", "Messages.List", "Messages.Submit",
	"Metrics.Figures", "Metrics.Query", "Metrics.Record",
	"Plugins.Follow", "Plugins.List", "Plugins.Logs", "Plugins.Settings",
	"Runs.Cancel", "Runs.Get", "Runs.List", "Runs.Retry", "Runs.Stop", "Runs.Wait",
	"Search.Messages",
	"Settings.Get",
	"State.Delete", "State.Get", "State.List", "State.Put",
	"Tasks.Cancel", "Tasks.Create", "Tasks.Evaluate", "Tasks.Fail", "Tasks.Get", "Tasks.History", "Tasks.Iterate", "Tasks.List", "Tasks.Suspend",
	"Threads.Branch", "Threads.Create", "Threads.Get", "Threads.List", "Threads.Update",
	"Tokens.Check", "Tokens.List",
	"Tools.Call", "Tools.List",
	"Workspace.Delete", "Workspace.History", "Workspace.List", "Workspace.Read", "Workspace.Write",
}

// methods calls each method of a host with an empty request, until visit has seen them all.
func methods(host pluginsdk.Host, visit func(name string, call func(ctx context.Context) error)) {
	services := reflect.ValueOf(host)
	for i := range services.NumField() {
		field := services.Type().Field(i)
		if field.Type.Kind() != reflect.Interface {
			continue
		}
		for m := range field.Type.NumMethod() {
			method := services.Field(i).MethodByName(field.Type.Method(m).Name)
			visit(field.Name+"."+field.Type.Method(m).Name, func(ctx context.Context) error {
				request := reflect.New(method.Type().In(1).Elem())
				err, _ := method.Call([]reflect.Value{reflect.ValueOf(ctx), request})[1].Interface().(error)
				return err
			})
		}
	}
}

// An agent whose call of a tool reaches a method that stands for a person's act would accept
// its own work, give itself rights, or make itself a token.
func TestOnlyAPersonActs(t *testing.T) {
	f := newFixture(pluginsdk.CapThreadsWrite, pluginsdk.CapThreadsAdmin, pluginsdk.CapRunsControl, pluginsdk.CapTasksDecide, pluginsdk.CapWorkspaceWrite, pluginsdk.CapTokensAdmin)
	origins := map[string]ledger.Behalf{
		"a run's hook or tool":      {RunID: "R", Fence: ledger.Fence{ThreadID: "mine"}},
		"a tool that a tool calls":  {RunID: "R", Depth: 2},
		"what a run has caused":     {CauseRunID: "R"},
		"a task's hook":             {TaskID: "K"},
		"a task's, caused by a run": {TaskID: "K", CauseRunID: "R"},
		"a hook outside of runs":    {}, // Deliver, OnBroadcast
		"a tool of nobody's run":    {Depth: 1},
	}
	_, outer := f.within(t, ledger.Behalf{})
	origins["a tool that a hook calls"] = ledger.Behalf{Depth: 1, Token: outer}
	var all []string
	methods(f.Host, func(name string, call func(context.Context) error) {
		all = append(all, name)
		if personal[name] == "" {
			return
		}
		for what, origin := range origins {
			ctx, _ := f.within(t, origin)
			refused(t, name+" in "+what, call(ctx), pluginsdk.CodeDenied, "only a person "+personal[name], "outside of its hooks and tools")
			refused(t, name+" in a person's name, in "+what, call(pluginsdk.WithPerson(ctx, "Ann")), pluginsdk.CodeDenied, "only a person")
		}
		over, token := f.within(t, ledger.Behalf{RunID: "R"})
		f.tokens.Close(token)
		refused(t, name+" in a hook that has ended", call(over), pluginsdk.CodeStale)
	})
	classified := slices.Sorted(maps.Keys(personal))
	slices.Sort(all)
	if known := slices.Sorted(slices.Values(append(classified, anybodys...))); !slices.Equal(known, all) {
		t.Errorf("the host has the methods %q; classified are %q", all, known)
	}
	if len(f.store.audits)+len(f.room.calls)+len(f.inbox.by) > 0 {
		t.Errorf("something was done: %q, %q, %+v", f.store.audits, f.room.calls, f.inbox.by)
	}
}

// What is a person's only when it is done in a person's name, or by a command that is typed.
func TestOnlyAPersonSpeaksInAPersonsName(t *testing.T) {
	f := newFixture(pluginsdk.CapThreadsWrite, pluginsdk.CapThreadsAdmin, pluginsdk.CapRunsControl, pluginsdk.CapTasksDecide, pluginsdk.CapWorkspaceWrite, pluginsdk.CapTokensAdmin)
	in, _ := f.within(t, ledger.Behalf{RunID: "R"})
	write := func(ctx context.Context, author string) error {
		_, err := f.Workspace.Write(ctx, &pluginsdk.WriteWorkspaceRequest{Path: "memory.md", Text: "x", Author: author})
		return err
	}
	refused(t, "a context file", write(in, "Ann"), pluginsdk.CodeDenied, "only a person changes context files")
	refused(t, "a context file", write(pluginsdk.WithPerson(in, "Ann"), ""), pluginsdk.CodeDenied, "only a person changes context files")
	refused(t, "a context file", second(f.Workspace.Delete(in, &pluginsdk.DeleteWorkspaceRequest{Path: "memory.md", Author: "Ann"})), pluginsdk.CodeDenied)
	for name, err := range map[string]error{"in its own name": write(in, ""), "outside": write(t.Context(), "Ann")} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	of, _ := f.within(t, ledger.Behalf{TaskID: "K"})
	for _, content := range []string{"/stop", "/new"} { // that of a run the inbox tells apart
		refused(t, content, second(f.Messages.Submit(of, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{ThreadID: "mine", Content: content}})),
			pluginsdk.CodeDenied, "hook of the task K")
	}
	hook, _ := f.within(t, ledger.Behalf{})
	refused(t, "/tasks approve in Deliver", second(f.Messages.Submit(hook, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{ThreadID: "mine", Content: "/tasks approve K"}})),
		pluginsdk.CodeDenied, "only a person has a word on a task")
	if said := len(f.inbox.submissions); said > 0 {
		t.Errorf("%d commands were given", said)
	}
}

// most are grants of which a plugin lacks one.
type most struct {
	Grants
	plugin string
	lacks  pluginsdk.Capability
}

func (m most) Granted(plugin string, capability pluginsdk.Capability) bool {
	return (plugin != m.plugin || capability != m.lacks) && m.Grants.Granted(plugin, capability)
}

// A person who types a plugin's command may have the plugin hand in their word on its own task.
// Nobody else has a word there: else a plugin, or its agent, would accept its own work.
func TestAPersonsCommandDecidesOnATask(t *testing.T) {
	ann := ledger.Behalf{RunID: "R", Fence: ledger.Fence{ThreadID: "mine"}, TypedScope: pluginsdk.ScopeApprove, Typed: ledger.By{
		Author: "Ann", Plugin: "web", Scope: pluginsdk.ScopeApprove, Origin: pluginsdk.Origin{Token: "A", TokenName: "Ann"},
	}}
	with := func(change func(*ledger.Behalf)) ledger.Behalf {
		origin := ann
		change(&origin)
		return origin
	}
	decide := func(t *testing.T, origin ledger.Behalf, task, plugin string, lacks pluginsdk.Capability) (*fixture, error) {
		t.Helper()
		f := newFixture(pluginsdk.CapTasksWrite, pluginsdk.CapTasksDecide)
		f.api.Grants, f.api.Callers = most{f.api.Grants, plugin, lacks}, &door{revoked: "GONE"}
		f.store.made = []pluginsdk.Task{{ID: "mine", Plugin: "p"}, {ID: "its", Plugin: "q"}}
		ctx, _ := f.within(t, origin)
		err := f.api.Admit(ctx, "p", pluginsdk.CapTasksDecide)
		if err == nil {
			_, err = f.Tasks.Decide(ctx, &pluginsdk.DecideTaskRequest{ID: task, Author: "Owner"})
		}
		return f, err
	}
	for name, origin := range map[string]ledger.Behalf{
		"as it must be": ann,
		"by the owner":  with(func(o *ledger.Behalf) { o.Typed.Scope, o.TypedScope = pluginsdk.ScopeAdmin, pluginsdk.ScopeAdmin }),
	} {
		f, err := decide(t, origin, "mine", "p", pluginsdk.CapTasksDecide)
		if err != nil || len(f.room.by) != 1 || f.room.by[0].Author != "Ann" || f.room.by[0].Token != "A" || f.room.by[0].Plugin != "p" || f.room.by[0].OfAgent() {
			t.Errorf("%s: decided by %+v, %v", name, f.room.by, err)
		}
	}
	for name, row := range map[string]struct {
		origin ledger.Behalf
		task   string
		plugin string // that lacks
		lacks  pluginsdk.Capability
		words  string
	}{
		"the agent's command":             {with(func(o *ledger.Behalf) { o.Typed, o.TypedScope = ledger.By{}, "" }), "mine", "", "", "only a person"},
		"the agent's, without the grant":  {with(func(o *ledger.Behalf) { o.Typed, o.TypedScope = ledger.By{}, "" }), "mine", "p", pluginsdk.CapTasksDecide, "lacks the capability tasks.decide"},
		"what a run has submitted":        {with(func(o *ledger.Behalf) { o.Typed.RunID = "R0" }), "mine", "", "", "only a person"},
		"what nobody has typed":           {with(func(o *ledger.Behalf) { o.Typed.Author = "" }), "mine", "", "", "only a person"},
		"whose token was revoked since":   {with(func(o *ledger.Behalf) { o.Typed.Token = "GONE" }), "mine", "", "", "was revoked"},
		"who may only chat":               {with(func(o *ledger.Behalf) { o.Typed.Scope = pluginsdk.ScopeChat }), "mine", "", "", "the right approve"},
		"who may do nobody knows what":    {with(func(o *ledger.Behalf) { o.Typed.Scope = "" }), "mine", "", "", "the right approve"},
		"a command for anybody":           {with(func(o *ledger.Behalf) { o.TypedScope = "" }), "mine", "", "", "manifest"},
		"a command for who may chat":      {with(func(o *ledger.Behalf) { o.TypedScope = pluginsdk.ScopeChat }), "mine", "", "", "manifest"},
		"another's task":                  {ann, "its", "", "", "of the plugin q"},
		"a plugin that makes no tasks":    {ann, "mine", "p", pluginsdk.CapTasksWrite, "lacks the capability tasks.write"},
		"typed through anybody's plugin":  {ann, "mine", "web", pluginsdk.CapTasksDecide, "the plugin web lacks the capability tasks.decide"},
		"submitted by the plugin itself":  {with(func(o *ledger.Behalf) { o.Typed.Plugin = "p" }), "mine", "p", pluginsdk.CapTasksDecide, "the plugin p lacks the capability tasks.decide"},
		"a tool that the command's calls": {ledger.Behalf{RunID: "R", Depth: 1}, "mine", "", "", "only a person"},
	} {
		f, err := decide(t, row.origin, row.task, row.plugin, row.lacks)
		refused(t, name, err, pluginsdk.CodeDenied, row.words)
		if len(f.room.calls) > 0 {
			t.Errorf("%s: done: %q", name, f.room.calls)
		}
	}
}
