package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

const hostileName = "hostile"

// mischief is what the hostile plugin does, once, when the hook is called for
// a message that contains "victim". The test writes it beside the binary.
type mischief struct {
	Hook pluginsdk.Hook `json:"hook"`
	How  string         `json:"how"` // error, panic, late, hang, exit, kill
}

// hostile is a plugin that answers every hook of the pipeline and misbehaves
// in the one that it is told to.
type hostile struct{ host pluginsdk.Host }

func runHostile() { serve.Main(&hostile{}) }

func (h *hostile) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: hostileName, Version: "1.0.0",
		Commands: []pluginsdk.CommandSpec{{Name: "poke"}, {Name: "tally"}, {Name: "aside", Beside: true}},
		Needs: map[pluginsdk.Hook][]pluginsdk.Part{
			pluginsdk.HookPipelineStart: {pluginsdk.PartMessage}, pluginsdk.HookBeforeInvoke: {pluginsdk.PartMessage},
			pluginsdk.HookAfterInvoke: {pluginsdk.PartMessage}, pluginsdk.HookBeforeReply: {pluginsdk.PartMessage},
			pluginsdk.HookPipelineComplete: {pluginsdk.PartMessage},
		},
	}
}

func (h *hostile) Start(_ context.Context, host pluginsdk.Host) error {
	h.host = host
	return nil
}

func beside(name string) string { return filepath.Join(filepath.Dir(os.Args[0]), name) }

// act does the mischief if it is this hook's turn.
func (h *hostile) act(ctx context.Context, hook pluginsdk.Hook, message pluginsdk.Message) error {
	if !strings.Contains(message.Content, "victim") {
		return nil
	}
	content, err := os.ReadFile(beside("mischief.json"))
	if err != nil {
		return nil
	}
	var m mischief
	if json.Unmarshal(content, &m) != nil || m.Hook != hook {
		return nil
	}
	_ = os.Remove(beside("mischief.json"))
	switch m.How {
	case "error":
		return errors.New("hostile on purpose")
	case "panic":
		panic("hostile on purpose")
	case "late":
		<-ctx.Done()
		_, err := h.host.Messages.Append(context.WithoutCancel(ctx), &pluginsdk.AppendMessagesRequest{
			ThreadID: message.ThreadID, Key: "late",
			Messages: []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Content: "written too late"}},
		})
		_ = os.WriteFile(beside("late.txt"), []byte(pluginsdk.CodeOf(err)), 0o600)
		<-time.After(100 * time.Millisecond) // the host's clock may be slow: an answer that reaches it is none that is late
	case "hang":
		select {}
	case "exit":
		os.Exit(3)
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return nil
}

func (h *hostile) OnBeforeRun(ctx context.Context, s *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	return nil, h.act(ctx, pluginsdk.HookBeforeRun, s.Message)
}

func (h *hostile) OnPipelineStart(ctx context.Context, s *pluginsdk.OnPipelineStartRequest) (*pluginsdk.OnPipelineStartResponse, error) {
	return nil, h.act(ctx, pluginsdk.HookPipelineStart, s.Message)
}

func (h *hostile) OnMessage(ctx context.Context, m *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
	return nil, h.act(ctx, pluginsdk.HookMessage, m.Message)
}

func (h *hostile) OnBeforeInvoke(ctx context.Context, p *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	return &pluginsdk.OnBeforeInvokeResponse{}, h.act(ctx, pluginsdk.HookBeforeInvoke, p.Message)
}

func (h *hostile) OnAfterInvoke(ctx context.Context, i *pluginsdk.OnAfterInvokeRequest) (*pluginsdk.OnAfterInvokeResponse, error) {
	return nil, h.act(ctx, pluginsdk.HookAfterInvoke, i.Message)
}

// OnCommand counts the calls of tally, and of aside, in a file, one line each, by call id. While there
// is a file aside.hold, aside does not end.
func (h *hostile) OnCommand(ctx context.Context, c *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	if c.Name == "tally" || c.Name == "aside" {
		file, err := os.OpenFile(beside(c.Name+".txt"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		_, err = file.WriteString(c.Call.ID + " " + c.Body + "\n")
		if _, missing := os.Stat(beside("aside.hold")); c.Name == "aside" && missing == nil {
			<-ctx.Done()
		}
		return &pluginsdk.OnCommandResponse{Handled: true, Reply: "tallied " + c.Body}, err
	}
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: "poked"}, h.act(ctx, pluginsdk.HookCommand, c.Message)
}

func (h *hostile) OnBeforeReply(ctx context.Context, r *pluginsdk.OnBeforeReplyRequest) (*pluginsdk.OnBeforeReplyResponse, error) {
	return &pluginsdk.OnBeforeReplyResponse{}, h.act(ctx, pluginsdk.HookBeforeReply, r.Message)
}

func (h *hostile) OnPipelineComplete(ctx context.Context, c *pluginsdk.OnPipelineCompleteRequest) (*pluginsdk.OnPipelineCompleteResponse, error) {
	return nil, h.act(ctx, pluginsdk.HookPipelineComplete, c.Message)
}
