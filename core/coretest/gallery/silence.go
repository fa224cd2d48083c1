package main

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// sulker is well known and dies at its first hook; from then on its processes
// never shake hands.
func sulker(name string) {
	if exists("sulker.known") {
		lurk()
	}
	g := newGuest(name)
	g.each = func(context.Context, visit) error {
		if once("sulker.known") {
			cry("never again")
		}
		os.Exit(1)
		return nil
	}
	g.serve()
}

// sleeper stops itself when it is asked something.
func sleeper(name string) {
	g := newGuest(name)
	g.each = func(_ context.Context, v visit) error {
		if v.hook == pluginsdk.HookMessage {
			return syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		}
		return nil
	}
	g.serve()
}

// tardy answers everything a moment after its deadline.
func tardy(name string) {
	g := newGuest(name)
	g.each = func(ctx context.Context, _ visit) error {
		<-ctx.Done()
		<-time.After(20 * time.Millisecond)
		return nil
	}
	g.serve()
}

// dawdler answers every hook of a victim's run when it all but has to, and
// writes down which it was asked.
func dawdler(name string) {
	g := newGuest(name)
	g.each = func(ctx context.Context, v visit) error {
		if !victim(v.thread) {
			return nil
		}
		note("dawdler.txt", v.call.RunID+" "+string(v.hook))
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(v.call.Deadline) - 200*time.Millisecond):
		}
		return nil
	}
	g.serve()
}

// crasher ends at every hook, in one of the ways in which processes do.
func crasher(name string) {
	g := newGuest(name)
	g.manifest.Commands = []pluginsdk.CommandSpec{{Name: "crash"}}
	g.manifest.Events = []string{"pipeline:step"} // its own states are events too
	g.manifest.Tools = []pluginsdk.ToolSpec{{Name: "crash", Description: "Crashes.", InputSchema: []byte(`{"type":"object"}`)}}
	c := &crash{guest: g}
	g.each = func(_ context.Context, v visit) error { return c.now(v.hook) }
	serve.Main(c)
}

// crash also answers what is not of the pipeline.
type crash struct{ *guest }

func (*crash) now(hook pluginsdk.Hook) error {
	switch hook {
	case pluginsdk.HookBeforeInvoke, pluginsdk.HookCommand:
		go func() { panic("crashed in " + string(hook)) }()
		select {}
	case pluginsdk.HookPipelineStart, pluginsdk.HookBroadcast:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	cry("crashed in " + string(hook))
	os.Exit(3)
	return nil
}

// OnCommand crashes.
func (c *crash) OnCommand(context.Context, *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	return nil, c.now(pluginsdk.HookCommand)
}

// CallTool crashes.
func (c *crash) CallTool(context.Context, *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	return nil, c.now(pluginsdk.HookCallTool)
}

// OnBroadcast crashes.
func (c *crash) OnBroadcast(context.Context, *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	return nil, c.now(pluginsdk.HookBroadcast)
}

// reformed is a plugin that was bad until the file reformed.txt came.
func reformed(name string) {
	g := newGuest(name)
	g.start = func(pluginsdk.Host) {
		if !exists("reformed.txt") {
			cry("the port is taken, as always")
			os.Exit(1)
		}
	}
	g.serve()
}
