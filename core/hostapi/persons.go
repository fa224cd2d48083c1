package hostapi

import (
	"cmp"
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// personal are the methods that only a person's act calls, with what the person does by
// each. A plugin calls them for a person, so never inside of a hook or a tool: what an agent causes
// there, by a command in its reply or by the call of a tool, and what an event, a delivery or
// another plugin causes, is no person's act, whichever API it comes through. One hook is the
// person's: see mayDecide.
var personal = map[string]string{
	"Accounts.Add":              "adds accounts",
	"Accounts.Remove":           "removes accounts",
	"Accounts.Update":           "changes accounts",
	"Approvals.Decide":          "answers what the agent asks",
	"Installation.Backup":       "makes backups",
	"Installation.DeleteBackup": "deletes backups",
	"Installation.ReadBackup":   "reads backups",
	"Installation.SetPause":     "pauses the daemon",
	"Plugins.ChangeSettings":    "changes the settings of plugins",
	"Plugins.Grant":             "grants rights to plugins",
	"Plugins.Install":           "installs plugins",
	"Plugins.Order":             "orders plugins",
	"Plugins.Remove":            "removes plugins",
	"Plugins.Revoke":            "takes rights from plugins",
	"Plugins.Rollback":          "rolls plugins back",
	"Plugins.SetEnabled":        "turns plugins on and off",
	"Plugins.SetLimits":         "limits plugins",
	"Plugins.Upgrade":           "upgrades plugins",
	"Runs.Resume":               "has a parked run go on",
	"Tasks.Decide":              "has a word on a task",
	"Threads.Delete":            "deletes threads",
	"Tokens.Create":             "makes tokens",
	"Tokens.Exchange":           "logs in",
	"Tokens.Revoke":             "ends tokens",
}

// servePerson is serve for a method that only a person's act calls.
func servePerson[R any](ctx context.Context, c *caller, method string, do func() (*R, error)) (*R, error) {
	return serve(c, method, func() (*R, error) {
		if err := c.outsideOfHooks(ctx, personal[method]); err != nil {
			return nil, err
		}
		return do()
	})
}

// outsideOfHooks refuses (CodeDenied) a call that is made in a hook or in a tool, of what only a
// person does.
func (c *caller) outsideOfHooks(ctx context.Context, does string) error {
	in, err := c.granted(ctx, c.plugin)
	if err != nil {
		return err
	}
	cause := cmp.Or(in.origin.Cause(), in.origin.TaskID)
	if in.besideRuns() {
		cause = "a hook or a tool"
	}
	if cause != "" {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "only a person %s, and this comes from %s; a plugin calls it for a person, outside of its hooks and tools", does, cause)
	}
	return nil
}

// mayDecide refuses (CodeDenied) a word on a task that no person gives. A plugin hands it in for a
// person outside of its hooks and tools, or, on a task that it has made itself, in the hook of
// its command that a person has typed who may decide on tasks. That one needs no tasks.decide: the
// plugin through which the command was typed has it, so that no plugin makes up the person who accepts its own work.
func (s tasks) mayDecide(ctx context.Context, id string) error {
	in, err := s.granted(ctx, s.plugin)
	if err != nil {
		return err
	}
	if !in.typedByAPerson() {
		return s.outsideOfHooks(ctx, personal["Tasks.Decide"])
	}
	typed, needed := in.origin.Typed, pluginsdk.ScopeApprove
	switch {
	case !s.Grants.Granted(s.plugin, pluginsdk.CapTasksWrite):
		return lacks(s.plugin, pluginsdk.CapTasksWrite)
	case !in.origin.TypedScope.Has(needed):
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "in a command the plugin %s decides on tasks only where its manifest gives the command the scope %s, %s or %s",
			s.plugin, needed, pluginsdk.ScopeWork, pluginsdk.ScopeAdmin)
	case !typed.Scope.Has(needed):
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "a word on a task needs the right %s, which %s, who has typed the command, does not have", needed, typed.Name())
	case typed.Token != "" && s.Callers.Revoked(typed.Token):
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "the token with which %s typed the command was revoked since: type it again", typed.Name())
	case !s.Grants.Granted(typed.Plugin, pluginsdk.CapTasksDecide):
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "a word on a task, in a command that was typed through the plugin %s: %w", typed.Plugin, lacks(typed.Plugin, pluginsdk.CapTasksDecide))
	}
	return s.own(ctx, id)
}
