package plugintest

import (
	"cmp"
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// typed is a command that a person has typed, while a plugin answers it.
type typed struct {
	by    pluginsdk.Label
	scope pluginsdk.TokenScope // that the plugin's manifest demands
}

// OnCommand asks the plugin. What a person has typed (Origin) is theirs, as in the daemon: in
// the call, which needs a Call.ID, the plugin hands in the person's word on its own tasks, if
// Message.Author and Message.Scope say who it is and that they may.
func (p *Plugin) OnCommand(ctx context.Context, request *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	if p.host != nil && request.Origin == pluginsdk.FromPerson && request.Call.ID != "" {
		defer p.host.types(p.manifest, request)()
	}
	return p.PluginClient.OnCommand(ctx, request)
}

// types notes that a person has typed what a plugin is asked, until over.
func (h *Host) types(manifest pluginsdk.Manifest, request *pluginsdk.OnCommandRequest) (over func()) {
	command := typed{by: request.Message.Label()}
	for _, spec := range manifest.Commands {
		if spec.Name == request.Name {
			command.scope = spec.Scope
		}
	}
	if command.by.Author == "" || command.by.OfAgent() {
		return func() {}
	}
	key := manifest.Name + "/" + request.Call.ID
	h.mu.Lock()
	defer h.mu.Unlock()
	h.typed[key] = command
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.typed, key)
	}
}

// typedIn reports whether a call is made while the plugin answers what a person has typed.
func (h *Host) typedIn(ctx context.Context, manifest pluginsdk.Manifest) bool {
	call, _ := pluginsdk.CallFrom(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.typed[manifest.Name+"/"+call.ID]
	return ok
}

// wordOf returns whose word on a task a call is: the person's who has typed the command that it
// is made in, and outside of hooks and tools the one's whom the plugin names.
func (s tasks) wordOf(ctx context.Context, task *pluginsdk.Task, named string) (pluginsdk.Label, error) {
	call, _ := pluginsdk.CallFrom(ctx)
	command, ok := s.h.typed[s.manifest.Name+"/"+call.ID]
	denied := func(why string) (pluginsdk.Label, error) {
		return pluginsdk.Label{}, pluginsdk.Errorf(pluginsdk.CodeDenied, "%s", why)
	}
	switch {
	case !ok && call.RunID != "":
		return denied("only a person has a word on a task, and this comes from " + call.RunID)
	case !ok:
		return pluginsdk.Label{Plugin: s.manifest.Name, Author: cmp.Or(pluginsdk.PersonFrom(ctx), named)}, nil
	case !command.scope.Has(pluginsdk.ScopeApprove):
		return denied("in a command the plugin decides on tasks only where its manifest gives the command the scope approve, work or admin")
	case !command.by.Scope.Has(pluginsdk.ScopeApprove):
		return denied("a word on a task needs the right approve, which " + command.by.Author + ", who has typed the command, does not have")
	case command.by.Plugin == s.manifest.Name:
		return denied("the plugin " + s.manifest.Name + " has submitted the command itself, and the daemon takes no person's word from it")
	case task.Plugin != s.manifest.Name:
		return denied("task " + task.ID + " is of the plugin " + task.Plugin + ", which alone takes it on")
	}
	command.by.Plugin = s.manifest.Name
	return command.by, nil
}
