package conform_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// subject is a plugin with one fault, named by its mode; good has none.
type subject struct {
	mode string
	host pluginsdk.Host

	calls     atomic.Int64
	starts    atomic.Int64
	active    atomic.Int64 // how often it was activated
	mu        sync.Mutex
	collected [][]byte
}

func (p *subject) Manifest() pluginsdk.Manifest {
	manifest := pluginsdk.Manifest{
		Name: "subject", Version: "1.0.0", Description: "for tests",
		Commands: []pluginsdk.CommandSpec{{Name: "first"}, {Name: "second"}},
		Tools:    []pluginsdk.ToolSpec{{Name: "one", InputSchema: json.RawMessage(`{}`)}, {Name: "two", InputSchema: json.RawMessage(`{}`)}},
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapState, Reason: "to count"}, {Capability: pluginsdk.CapMessagesWrite, Reason: "to say so"},
		},
		SettingsSchema: json.RawMessage(`{"type": "object", "properties": {"word": {"type": "string"}}}`),
	}
	if p.mode == "unstable" {
		manifest.Version = "1.0." + strconv.Itoa(os.Getpid())
	}
	return manifest
}

func (p *subject) Start(_ context.Context, host pluginsdk.Host) error {
	p.host = host
	return nil
}

func (p *subject) Activate(context.Context) error {
	again := p.active.Add(1) > 1
	switch p.mode {
	case "activates-once":
		if again {
			return errors.New("address already in use")
		}
	case "leaves-child", "leaves-far-child":
		return startChild(p.mode == "leaves-far-child")
	case "leaves-socket":
		return listenForGood(p.active.Load())
	}
	return nil
}

func (p *subject) Deactivate(context.Context) error { return nil }

func startChild(far bool) error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(path, "be-plugin", "lasting")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: far}
	return cmd.Start()
}

func listenForGood(n int64) error {
	listener, err := net.Listen("unix", filepath.Join(os.TempDir(), fmt.Sprintf("subject%d-%d", os.Getpid(), n)))
	if err != nil {
		return err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	return listener.Close()
}

// OnMessage asks the host something, as hooks do.
func (p *subject) OnMessage(ctx context.Context, m *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
	defer p.calls.Add(-1)
	if calls := p.calls.Add(1); p.mode == "breaks-under-load" && calls > 16 {
		os.Exit(3)
	}
	switch p.mode {
	case "ignores-cancel":
		ctx = context.WithoutCancel(ctx)
	case "leaks":
		p.mu.Lock()
		p.collected = append(p.collected, []byte(strings.Repeat(m.Message.Content, 384)))
		p.mu.Unlock()
	case "asks-too-much":
		_, _ = p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: m.Thread.ID})
	case "panics":
		panic("at the disco")
	case "grumbles":
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no such channel")
	}
	_, err := p.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: "seen", Value: []byte(m.Message.ThreadID)})
	if p.mode == "sees-one-message" {
		return &pluginsdk.OnMessageResponse{Effects: statusOf("seen")}, err
	}
	return nil, err // nothing to change is an answer
}

func statusOf(key string) *pluginsdk.Effects {
	return &pluginsdk.Effects{Key: key, Rows: []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: key}}}
}

// OnPipelineStart has effects.
func (p *subject) OnPipelineStart(_ context.Context, start *pluginsdk.OnPipelineStartRequest) (*pluginsdk.OnPipelineStartResponse, error) {
	effects := &pluginsdk.Effects{Key: "start", Rows: []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: start.Message.Content}}}
	switch p.mode {
	case "has-no-key":
		effects.Key = ""
	case "has-another-key":
		effects.Key = strconv.FormatInt(p.starts.Add(1), 10)
	case "says-something-else":
		effects.Rows[0].Content = strconv.FormatInt(p.starts.Add(1), 10)
	case "speaks-in-effects":
		effects.Rows[0].Kind = pluginsdk.MessageText
	case "counts":
		effects.Metrics = []pluginsdk.NewMetric{{Name: "starts", Value: 1}}
	}
	return &pluginsdk.OnPipelineStartResponse{Effects: effects}, nil
}

func (p *subject) OnCheck(context.Context, *pluginsdk.OnCheckRequest) (*pluginsdk.OnCheckResponse, error) {
	checks := []pluginsdk.Check{{Name: "disk", State: pluginsdk.CheckOK}}
	switch p.mode {
	case "feels-odd":
		checks[0].State = "odd"
	case "counts-for-others":
		return &pluginsdk.OnCheckResponse{Checks: checks, Figures: []pluginsdk.Figure{{Name: "harness_runs_parked", Kind: pluginsdk.FigureGauge}}}, nil
	case "feels-too-much":
		for range 40 {
			checks = append(checks, checks[0])
		}
	}
	return &pluginsdk.OnCheckResponse{Checks: checks}, nil
}

func (p *subject) OnCommand(_ context.Context, command *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	if p.mode == "forgets-command" && command.Name == "second" {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "later")
	}
	key := "command-" + strconv.Itoa(command.Index)
	if p.mode == "sees-one-command" {
		key = "command"
	}
	return &pluginsdk.OnCommandResponse{Handled: true, Effects: statusOf(key)}, nil
}

func (p *subject) CallTool(_ context.Context, call *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	if p.mode == "forgets-tool" && call.Name == "two" {
		panic("later")
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: "done"}}, nil
}

func (p *subject) OnSettingsChange(_ context.Context, change *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	var settings struct{ Word string }
	err := json.Unmarshal(change.Settings, &settings)
	if err != nil && p.mode == "dies-of-settings" {
		os.Exit(3)
	}
	return &pluginsdk.OnSettingsChangeResponse{}, err
}
