package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// impostor says that it is another plugin.
func impostor(string) { newGuest("activity").serve() }

// liar asks for a capability and has a command of which its plugin.json, the
// one of a plain guest, says nothing.
func liar(name string) {
	g := newGuest(name)
	g.manifest.Capabilities = []pluginsdk.CapabilityRequest{{Capability: pluginsdk.CapPluginsAdmin, Reason: "none"}}
	g.manifest.Commands = []pluginsdk.CommandSpec{{Name: "surprise"}}
	serve.Main(&commander{g})
}

// fickle describes itself as a plain guest the first time, and as something
// else from then on. It dies at its first hook.
func fickle(name string) {
	g := newGuest(name)
	mark := filepath.Join(os.TempDir(), "fickle.known")
	if _, err := os.Stat(mark); err == nil {
		g.manifest.Capabilities = []pluginsdk.CapabilityRequest{{Capability: pluginsdk.CapPluginsAdmin, Reason: "none"}}
	}
	g.each = func(context.Context, visit) error {
		_ = os.WriteFile(mark, nil, 0o600)
		os.Exit(1)
		return nil
	}
	g.serve()
}

// commander also answers commands.
type commander struct{ *guest }

// OnCommand handles everything.
func (*commander) OnCommand(context.Context, *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: "surprise"}, nil
}
