package main

import (
	"context"
	"os"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// victim reports whether a thread is one in which the exhibits that are slow or
// large by nature do what they do. The other threads show what becomes of their
// neighbours.
func victim(thread pluginsdk.Thread) bool { return strings.HasPrefix(thread.Name, "victim") }

// visit is one call of a hook.
type visit struct {
	hook   pluginsdk.Hook
	call   pluginsdk.Call
	thread pluginsdk.Thread
}

// guest is a plugin that answers every hook of the pipeline, and changes
// nothing.
type guest struct {
	manifest pluginsdk.Manifest
	start    func(host pluginsdk.Host)                // may be nil
	each     func(ctx context.Context, v visit) error // may be nil

	host pluginsdk.Host
}

func newGuest(name string) *guest {
	return &guest{manifest: pluginsdk.Manifest{Name: name, Version: "1.0.0", Description: "An exhibit of the gallery."}}
}

func (g *guest) serve() { serve.Main(g) }

// Manifest is what the exhibit says about itself.
func (g *guest) Manifest() pluginsdk.Manifest { return g.manifest }

// Start keeps the host.
func (g *guest) Start(_ context.Context, host pluginsdk.Host) error {
	g.host = host
	if g.start != nil {
		g.start(host)
	}
	return nil
}

func (g *guest) visit(ctx context.Context, hook pluginsdk.Hook, call pluginsdk.Call, thread pluginsdk.Thread) error {
	if g.each == nil {
		return nil
	}
	return g.each(ctx, visit{hook: hook, call: call, thread: thread})
}

// OnBeforeRun allows every run.
func (g *guest) OnBeforeRun(ctx context.Context, s *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	return &pluginsdk.OnBeforeRunResponse{}, g.visit(ctx, pluginsdk.HookBeforeRun, s.Call, s.Thread)
}

// OnPipelineStart is a visit.
func (g *guest) OnPipelineStart(ctx context.Context, s *pluginsdk.OnPipelineStartRequest) (*pluginsdk.OnPipelineStartResponse, error) {
	return &pluginsdk.OnPipelineStartResponse{}, g.visit(ctx, pluginsdk.HookPipelineStart, s.Call, s.Thread)
}

// OnMessage is a visit.
func (g *guest) OnMessage(ctx context.Context, m *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
	return &pluginsdk.OnMessageResponse{}, g.visit(ctx, pluginsdk.HookMessage, m.Call, m.Thread)
}

// OnBeforeInvoke leaves the prompt as it is.
func (g *guest) OnBeforeInvoke(ctx context.Context, p *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	return &pluginsdk.OnBeforeInvokeResponse{}, g.visit(ctx, pluginsdk.HookBeforeInvoke, p.Call, p.Thread)
}

// OnAfterInvoke is a visit.
func (g *guest) OnAfterInvoke(ctx context.Context, i *pluginsdk.OnAfterInvokeRequest) (*pluginsdk.OnAfterInvokeResponse, error) {
	return &pluginsdk.OnAfterInvokeResponse{}, g.visit(ctx, pluginsdk.HookAfterInvoke, i.Call, i.Thread)
}

// OnBeforeReply leaves the reply as it is.
func (g *guest) OnBeforeReply(ctx context.Context, r *pluginsdk.OnBeforeReplyRequest) (*pluginsdk.OnBeforeReplyResponse, error) {
	return &pluginsdk.OnBeforeReplyResponse{}, g.visit(ctx, pluginsdk.HookBeforeReply, r.Call, r.Thread)
}

// OnPipelineComplete is a visit.
func (g *guest) OnPipelineComplete(ctx context.Context, c *pluginsdk.OnPipelineCompleteRequest) (*pluginsdk.OnPipelineCompleteResponse, error) {
	return &pluginsdk.OnPipelineCompleteResponse{}, g.visit(ctx, pluginsdk.HookPipelineComplete, c.Call, c.Thread)
}

// witness is the good neighbour: it writes down every call.
func witness(name string) {
	g := newGuest(name)
	g.each = func(_ context.Context, v visit) error {
		note("witness.log", v.call.RunID+" "+string(v.hook))
		return nil
	}
	g.serve()
}

// reader is the good neighbour that keeps the prompt of every run.
func reader(name string) { serve.Main(&library{newGuest(name)}) }

type library struct{ *guest }

// OnBeforeInvoke keeps the prompt as it is, on disk too.
func (*library) OnBeforeInvoke(_ context.Context, request *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	return nil, os.WriteFile(beside("prompt-"+request.Call.RunID+".txt"), []byte(request.Prompt), 0o600)
}
