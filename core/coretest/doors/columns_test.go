package doors

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// route is a request of the API; pattern is its path as it is described.
type route struct {
	method, pattern, path string
	body                  any
}

// hostCall is a call of a plugin's host.
type hostCall struct {
	method, rpc string
	body        any
	// unless says why the call is refused although its capability was granted; empty: it is not.
	unless verdict
	// named is a person's, because it is made in a person's name.
	named bool
}

// command is what somebody types.
type command struct{ name, word, text string }

// column is a right.
type column struct {
	name, words string
	api         func(w *world, mark string) route
	typed       func(w *world, mark string) command // nil: no command gives it
	host        func(w *world, mark string, granted []pluginsdk.Capability) []hostCall
	cli         func(w *world, mark string) []string
	local       bool                              // the command line acts on the installation itself
	seen        func(w *world, mark string) bool  // whether somebody had the right
	reset       func(w *world)                    // takes back what was done; nil: nothing is
	reply       func(w *world, mark string) reply // the agent's command for it
}

// reply is a command in the agent's reply.
type reply struct{ name, text string }

func block(name, body string) reply {
	return reply{name, `[COMMAND type="` + name + `"]` + body + `[/COMMAND]`}
}

type object map[string]any

// firePattern is where a scheduled job is asked to fire, which a token for it may.
const firePattern = "/api/crons/{name}/fire"

var columns = []column{
	{
		name: "decide", words: "accept the work of a task",
		api: func(w *world, _ string) route {
			return route{http.MethodPost, "/api/tasks/{id}/decide", "/api/tasks/" + w.waitingTask() + "/decide", object{"verdict": "accept"}}
		},
		typed: func(w *world, _ string) command {
			return command{"tasks", "approve", "/tasks approve " + w.waitingTask()}
		},
		host: func(w *world, _ string, _ []pluginsdk.Capability) []hostCall {
			return []hostCall{{method: "Tasks.Decide", rpc: "DecideTask", body: pluginsdk.DecideTaskRequest{ID: w.waitingTask(), Verdict: pluginsdk.VerdictAccept, Author: "Ann"}}}
		},
		cli:   func(w *world, _ string) []string { return []string{"task", "approve", w.waitingTask()} },
		seen:  func(w *world, _ string) bool { return w.taskStatus(w.task) != pluginsdk.TaskWaiting },
		reply: func(w *world, _ string) reply { return block("tasks", "approve "+w.waitingTask()) },
	},
	{
		name: "approve", words: "answer what the agent asks",
		api: func(w *world, _ string) route {
			return route{http.MethodPost, "/api/approvals/{id}/decide", "/api/approvals/" + w.openApproval() + "/decide", object{"choice": "deny"}}
		},
		host: func(w *world, _ string, _ []pluginsdk.Capability) []hostCall {
			return []hostCall{{method: "Approvals.Decide", rpc: "DecideApproval", body: pluginsdk.DecideApprovalRequest{ID: w.openApproval(), Choice: "deny", Author: "Ann"}}}
		},
		cli: func(w *world, _ string) []string { return []string{"approvals", "deny", w.openApproval()} },
		seen: func(w *world, _ string) bool {
			return slices.Contains([]pluginsdk.ApprovalState{pluginsdk.ApprovalAllowed, pluginsdk.ApprovalDenied}, w.approvalState(w.asked))
		},
		reply: func(w *world, _ string) reply { return block("allow", w.openApproval()) },
	},
	{
		name: "token", words: "make a token",
		api: func(_ *world, mark string) route {
			return route{http.MethodPost, "/api/tokens", "/api/tokens", object{"name": mark, "scope": "read"}}
		},
		host: func(_ *world, mark string, _ []pluginsdk.Capability) []hostCall {
			return []hostCall{{method: "Tokens.Create", rpc: "CreateToken", body: pluginsdk.CreateTokenRequest{Name: mark, Scope: pluginsdk.ScopeRead}}}
		},
		cli: func(_ *world, mark string) []string { return []string{"token", "create", mark, "--scope", "read"} }, local: true,
		seen: func(w *world, mark string) bool {
			var list struct{ Tokens []pluginsdk.Token }
			w.get("/api/tokens?limit=1000", &list)
			return slices.ContainsFunc(list.Tokens, func(t pluginsdk.Token) bool { return t.Name == mark })
		},
		reply: func(_ *world, mark string) reply { return block("token", "create "+mark+" --scope admin") },
	},
	settingColumn("settings", "change another plugin's settings", "plain", ""),
	settingColumn("operator's settings", "change its commands, roots, hosts and whom it trusts", "command", byOperator),
	{
		name: "trust", words: "give a plugin rights, turn it off",
		api: func(*world, string) route {
			return route{http.MethodPost, "/api/plugins/{name}/grant", "/api/plugins/" + target + "/grant", object{"capabilities": []pluginsdk.Capability{given}}}
		},
		host: func(_ *world, _ string, granted []pluginsdk.Capability) []hostCall {
			grant := hostCall{method: "Plugins.Grant", rpc: "GrantPlugin", body: pluginsdk.GrantPluginRequest{Name: target, Capabilities: []pluginsdk.Capability{given}}}
			if !slices.Contains(granted, given) {
				grant.unless = byGrant // it gives what it has itself
			}
			return []hostCall{grant, {method: "Plugins.SetEnabled", rpc: "SetPluginEnabled", body: pluginsdk.SetPluginEnabledRequest{Name: target}}}
		},
		cli: func(*world, string) []string { return []string{"plugin", "grant", target, string(given)} }, local: true,
		seen: func(w *world, _ string) bool {
			now := w.plugin(target)
			return !now.Enabled || slices.Contains(now.Granted, given)
		},
		reset: func(w *world) {
			now := w.plugin(target)
			if slices.Contains(now.Granted, given) {
				w.admin(http.MethodPost, "/api/plugins/"+target+"/revoke", object{"capabilities": []pluginsdk.Capability{given}}, nil)
			}
			if !now.Enabled {
				w.admin(http.MethodPatch, "/api/plugins/"+target, object{"enabled": true}, nil)
			}
			w.eventually("the target's return", func() bool { return w.serves(target) })
		},
		reply: func(*world, string) reply { return block("plugin", "grant "+target+" "+string(given)) },
	},
	{
		name: "memory", words: "write what the agent remembers",
		api: func(w *world, mark string) route {
			_, version := w.remembered()
			return route{http.MethodPut, "/api/context/file", "/api/context/file?path=" + memory, object{"text": mark, "version": version}}
		},
		host: func(w *world, mark string, _ []pluginsdk.Capability) []hostCall {
			_, version := w.remembered()
			write := pluginsdk.WriteWorkspaceRequest{Path: memory, Text: mark, Version: version}
			named := write
			named.Author = "Ann"
			return []hostCall{{method: "Workspace.Write", rpc: "WriteWorkspace", body: named, named: true}, {method: "Workspace.Write", rpc: "WriteWorkspace", body: write}}
		},
		cli: func(w *world, mark string) []string {
			path := filepath.Join(w.bin, "memory.txt")
			if err := os.WriteFile(path, []byte(mark), 0o600); err != nil {
				w.t.Fatal(err)
			}
			return []string{"context", "edit", memory, "--file", path}
		},
		seen: func(w *world, mark string) bool {
			text, _ := w.remembered()
			return text == mark
		},
		reply: func(_ *world, mark string) reply { return block("context", "edit "+memory+" "+mark) },
	},
	{
		name: "elsewhere", words: "say something in another thread",
		api: func(w *world, mark string) route {
			return route{http.MethodPost, "/api/chat", "/api/chat", object{"threadId": w.other, "content": mark}}
		},
		typed: func(_ *world, mark string) command { return command{text: mark} },
		host: func(w *world, mark string, _ []pluginsdk.Capability) []hostCall {
			row := pluginsdk.NewMessage{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Content: mark}
			return []hostCall{
				{method: "Messages.Submit", rpc: "SubmitMessage", body: pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{Key: mark, ThreadID: w.other, Content: mark}}},
				{method: "Messages.Append", rpc: "AppendMessages", body: pluginsdk.AppendMessagesRequest{ThreadID: w.other, Key: mark, Messages: []pluginsdk.NewMessage{row}, Deliver: true}},
			}
		},
		cli:  func(w *world, mark string) []string { return []string{"send", "--thread", w.other, mark} },
		seen: func(w *world, mark string) bool { return w.said(w.other, mark) },
		reply: func(w *world, mark string) reply {
			return block("notify", `{"thread":"`+w.other+`","text":"`+mark+`"}`)
		},
	},
	{
		name: "start code", words: "have work done that runs code",
		api: func(w *world, mark string) route {
			return route{http.MethodPost, "/api/tasks", "/api/tasks", object{"threadId": w.parent, "text": mark}}
		},
		typed: func(_ *world, mark string) command { return command{"delegate", mark, "/delegate " + mark} },
		host: func(_ *world, mark string, _ []pluginsdk.Capability) []hostCall {
			return []hostCall{
				{method: "Tasks.Create", rpc: "CreateTask", body: pluginsdk.CreateTaskRequest{Key: mark, Task: pluginsdk.NewTask{Prompt: mark, OriginalMessage: mark}}},
				{method: "Agent.Start", rpc: "StartTurn", body: pluginsdk.StartTurnRequest{Key: mark, Purpose: "try", Prompt: mark}},
				{method: "Tools.Call", rpc: "InvokeTool", body: pluginsdk.InvokeToolRequest{Name: "delegation__delegate", Input: []byte(`{"task":"` + mark + `"}`)}},
			}
		},
		cli: func(w *world, mark string) []string {
			return []string{"send", "--thread", w.parent, "/delegate " + mark}
		},
		seen:  func(w *world, mark string) bool { return w.begun(mark) },
		reply: func(_ *world, mark string) reply { return reply{"delegate", "/delegate " + mark} },
	},
	{
		name: "fire", words: "have a scheduled job fire",
		api: func(w *world, _ string) route {
			return route{http.MethodPost, firePattern, "/api/crons/" + w.toFire() + "/fire", object{}}
		},
		typed: func(w *world, _ string) command { return command{"cron", "run", "/cron run " + w.toFire()} },
		host: func(w *world, _ string, _ []pluginsdk.Capability) []hostCall {
			return []hostCall{{method: "Crons.Fire", rpc: "FireCron", body: pluginsdk.FireCronRequest{Name: w.toFire()}}}
		},
		cli:   func(w *world, _ string) []string { return []string{"cron", "run", w.toFire()} },
		seen:  func(w *world, _ string) bool { return w.firesOf() > w.fires },
		reply: func(w *world, _ string) reply { return block("cron", "run "+w.toFire()) },
	},
}

// settingColumn is the right to change a setting of the target.
func settingColumn(name, words, setting string, marked verdict) column {
	return column{
		name: name, words: words,
		api: func(_ *world, mark string) route {
			return route{http.MethodPatch, "/api/plugins/{name}/settings", "/api/plugins/" + target + "/settings", object{"values": object{setting: mark}}}
		},
		host: func(w *world, mark string, _ []pluginsdk.Capability) []hostCall {
			change := hostCall{method: "Plugins.ChangeSettings", rpc: "ChangePluginSettings",
				body: pluginsdk.ChangePluginSettingsRequest{Name: target, Patch: encoded(w.t, object{setting: mark})}}
			if !shipped.Named(tester) {
				change.unless = marked
			}
			return []hostCall{change}
		},
		cli: func(_ *world, mark string) []string {
			return []string{"plugin", "settings", "set", target, setting + "=" + mark}
		}, local: true,
		seen:  func(w *world, mark string) bool { return w.setting(setting) == mark },
		reply: func(_ *world, mark string) reply { return block("plugin", "settings set "+target+" "+setting+"="+mark) },
	}
}

// words are what a command line adds for who calls.
func (w *world) words(c column, mark, tokenFile string) []string {
	words := c.cli(w, mark)
	if !c.local {
		return append(words, "--token-file", tokenFile, "--url", w.d.URL)
	}
	return append(words, "--data", w.d.Dir)
}
