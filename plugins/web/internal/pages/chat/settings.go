package chat

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// setting is a field of a thread's settings.
type setting struct {
	ui.Input
	Scope pluginsdk.TokenScope // that it needs; empty: chat
	now   func(pluginsdk.Thread) string
	set   func(*api.ThreadChange, string)
}

// settingsOf are the settings of a thread, in the order in which they are shown.
var settingsOf = []setting{
	{
		Input: ui.Input{Name: "name", Label: "Name"},
		now:   func(t pluginsdk.Thread) string { return t.Name },
		set:   func(c *api.ThreadChange, value string) { c.Name = &value },
	},
	{
		Input: ui.Input{Name: "instructions", Label: "Instructions", Rows: 4, Hint: "Said to the agent with each message of this thread."},
		Scope: pluginsdk.ScopeApprove,
		now:   func(t pluginsdk.Thread) string { return t.Instructions },
		set:   func(c *api.ThreadChange, value string) { c.Instructions = &value },
	},
	{
		Input: ui.Input{Name: "model", Label: "Model", Placeholder: "the configured one", List: []string{"opus", "sonnet", "haiku"}},
		Scope: pluginsdk.ScopeApprove,
		now:   func(t pluginsdk.Thread) string { return t.Model },
		set:   func(c *api.ThreadChange, value string) { c.Model = &value },
	},
	{
		Input: ui.Input{Name: "effort", Label: "Effort", Placeholder: "the configured one", List: []string{"low", "medium", "high"}, Hint: "How long the model thinks before it answers."},
		Scope: pluginsdk.ScopeApprove,
		now:   func(t pluginsdk.Thread) string { return t.Effort },
		set:   func(c *api.ThreadChange, value string) { c.Effort = &value },
	},
	{
		Input: ui.Input{Name: "busyMode", Label: "What you say while the agent works", Options: busyOptions(), Hint: "Where messages go that come before the agent is done."},
		now:   func(t pluginsdk.Thread) string { return string(t.BusyMode) },
		set: func(c *api.ThreadChange, value string) {
			mode := pluginsdk.BusyMode(value)
			c.BusyMode = &mode
		},
	},
	{
		Input: ui.Input{Name: "permissionMode", Label: "Permission mode", Hint: "What the agent may do before somebody is asked.", Options: []ui.Option{
			{Value: "", Label: "As configured"}, {Value: "default", Label: "Ask about what nothing allows"}, {Value: "acceptEdits", Label: "Change files without asking"},
			{Value: "plan", Label: "Only plan"}, {Value: "dontAsk", Label: "Deny what nothing allows"},
		}},
		Scope: pluginsdk.ScopeAdmin,
		now:   func(t pluginsdk.Thread) string { return t.PermissionMode },
		set:   func(c *api.ThreadChange, value string) { c.PermissionMode = &value },
	},
	{
		Input: ui.Input{Name: "cwd", Label: "Directory", Placeholder: "the workspace", Hint: "Where the agent works.", Mono: true},
		Scope: pluginsdk.ScopeAdmin,
		now:   func(t pluginsdk.Thread) string { return t.Cwd },
		set:   func(c *api.ThreadChange, value string) { c.Cwd = &value },
	},
	{
		Input: ui.Input{Name: "askTools", Label: "Tools that people are asked about", Placeholder: "as configured", Hint: "Names with spaces between them, all, or none.", Mono: true},
		Scope: pluginsdk.ScopeAdmin,
		now:   func(t pluginsdk.Thread) string { return t.AskTools },
		set:   func(c *api.ThreadChange, value string) { c.AskTools = &value },
	},
	{
		Input: ui.Input{Name: "reportTo", Label: "Where replies go", Placeholder: "to who carries its source", Hint: "PLUGIN:PLACE, or thread:ID for where that thread's replies go.", Mono: true},
		Scope: pluginsdk.ScopeAdmin,
		now:   func(t pluginsdk.Thread) string { return t.ReportTo.String() },
		set:   func(c *api.ThreadChange, value string) { c.ReportTo = &value },
	},
	{
		Input: ui.Input{Name: accountField, Label: "Account", Placeholder: "the default one", Hint: "The login or API key that the agent uses here. Changing the account begins a new session, which is given the thread's history."},
		Scope: pluginsdk.ScopeAdmin,
		now:   func(t pluginsdk.Thread) string { return t.Account },
		set:   func(c *api.ThreadChange, value string) { c.Account = &value },
	},
}

const accountField = "account"

// accountOptions are the accounts that a thread can use; none, when they cannot be read: then
// the name is typed.
func (c *chat) accountOptions(ctx context.Context, thread pluginsdk.Thread) (options []ui.Option) {
	var found struct{ Accounts []pluginsdk.Account }
	if c.Get(ctx, "/api/accounts", nil, &found) != nil {
		return nil
	}
	options = ui.Options("", "The default one")
	listed := thread.Account == ""
	for _, one := range found.Accounts {
		label := one.Name
		if one.Default {
			label += " (the default)"
		}
		if !one.Usable {
			label += " (cannot be used)"
		}
		options = append(options, ui.Option{Value: one.Name, Label: label})
		listed = listed || one.Name == thread.Account
	}
	if !listed {
		options = append(options, ui.Option{Value: thread.Account, Label: thread.Account + " (gone)"})
	}
	return options
}

func busyOptions() (options []ui.Option) {
	for _, mode := range busyModes {
		options = append(options, ui.Option{Value: string(mode.Mode), Label: mode.Name})
	}
	return options
}

// settings is the page of a thread's settings.
func (c *chat) settings(r *http.Request) (site.View, error) {
	thread, err := c.thread(r.Context(), r.PathValue("thread"))
	if err != nil {
		return site.View{}, err
	}
	return settingsView(thread, c.inputs(r, thread), viewerOf(r)), nil
}

func settingsView(thread pluginsdk.Thread, fields []ui.Input, who viewer) site.View {
	return site.View{Title: "Settings of " + site.ThreadName(thread), At: "/chat", Body: settingsPage(thread, fields, who)}
}

// inputs are the fields that a viewer may set, as they are.
func (c *chat) inputs(r *http.Request, thread pluginsdk.Thread) (fields []ui.Input) {
	who := viewerOf(r)
	for _, one := range settingsOf {
		if one.Scope == pluginsdk.ScopeAdmin && !who.Admin {
			continue
		}
		field := one.Input
		field.Value, field.Disabled = one.now(thread), !who.Chat || one.Scope == pluginsdk.ScopeApprove && !who.Approve
		if field.Name == accountField {
			field.Options = c.accountOptions(r.Context(), thread)
		}
		fields = append(fields, field)
	}
	return fields
}

// change takes new settings. Only what differs is asked for. What is wrong stands at its field.
func (c *chat) change(r *http.Request) (site.Done, error) {
	thread, err := c.thread(r.Context(), r.PathValue("thread"))
	if err != nil {
		return site.Done{}, err
	}
	var change api.ThreadChange
	fields := c.inputs(r, thread)
	for i, field := range fields {
		given, sent := r.PostForm[field.Name]
		if !sent {
			continue
		}
		value := strings.ReplaceAll(strings.TrimSpace(given[0]), "\r\n", "\n")
		if value == field.Value {
			continue
		}
		fields[i].Value = value
		for _, one := range settingsOf {
			if one.Name == field.Name {
				one.set(&change, value)
			}
		}
	}
	err = c.patch(r, thread.ID, change)
	if err == nil {
		return site.Done{To: path(thread.ID), Said: "The settings are saved. They hold from the next message on."}, nil
	}
	var told *site.Problem
	if !errors.As(err, &told) || told.Status != http.StatusUnprocessableEntity && told.Status != http.StatusConflict {
		return site.Done{}, err
	}
	placed := false
	for i := range fields {
		for _, wrong := range told.Fields {
			if wrong.Location == "body."+fields[i].Name {
				fields[i].Wrong, placed = wrong.Message, true
			}
		}
	}
	if !placed {
		fields[0].Wrong = told.Detail
	}
	return site.Done{}, &site.Again{View: settingsView(thread, fields, viewerOf(r))}
}

// archive takes a thread out of the list, or puts it back.
func (c *chat) archive(r *http.Request) (site.Done, error) {
	thread, status, said := r.PathValue("thread"), pluginsdk.ThreadArchived, "The thread is archived. It is found under Archived, and all that was said is kept."
	if r.PostForm.Get("back") == "active" {
		status, said = pluginsdk.ThreadActive, "The thread is back in the list."
	}
	return site.Done{To: path(thread), Said: said}, c.patch(r, thread, api.ThreadChange{Status: &status})
}

// remove deletes a thread for good, once somebody has said so.
func (c *chat) remove(r *http.Request) (site.Done, error) {
	if r.PostForm.Get("sure") != "yes" {
		return site.Done{}, &site.Problem{Status: http.StatusUnprocessableEntity, Detail: "say that the thread is to be deleted: tick the box"}
	}
	err := c.Ask(r.Context(), http.MethodDelete, "/api/threads/"+url.PathEscape(r.PathValue("thread")), nil, nil, nil)
	return site.Done{To: "/threads", Said: "The thread is deleted."}, err
}
