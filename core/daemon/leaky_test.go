package daemon_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

const leakyName = "leaky"

// leaky is a plugin that says its secrets wherever a careless one might.
type leaky struct {
	host     pluginsdk.Host
	settings atomic.Pointer[leakySettings]
}

type leakySettings struct{ Token, Password, Decoy string }

func runLeaky() { serve.Main(&leaky{}) }

func (l *leaky) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: leakyName, Version: "1.0.0",
		Commands: []pluginsdk.CommandSpec{{Name: "spill"}},
		Needs:    map[pluginsdk.Hook][]pluginsdk.Part{pluginsdk.HookBeforeInvoke: {pluginsdk.PartMessage}},
		SettingsSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
			"token":{"type":"string","secret":true,"minLength":10},"password":{"type":"string","secret":true},
			"decoy":{"type":"string","description":"No secret: it must be found where secrets must not"}}}`),
	}
}

func (l *leaky) Start(ctx context.Context, host pluginsdk.Host) error {
	l.host = host
	got, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	return l.configure(got.Settings)
}

// configure says in a file which secrets it was given, without saying them.
func (l *leaky) configure(raw json.RawMessage) error {
	var got leakySettings
	if err := json.Unmarshal(raw, &got); err != nil {
		return err
	}
	l.settings.Store(&got)
	l.host.Log.Warn("configured with "+string(raw), "settings", got, "decoy", got.Decoy)
	fmt.Fprintln(os.Stderr, l.spilled())
	fmt.Fprintln(os.Stdout, l.spilled())
	return os.WriteFile(beside("given.txt"), []byte(digest(got.Token)+" "+digest(got.Password)), 0o600)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// spilled is the secrets in some of the ways in which libraries write them.
func (l *leaky) spilled() string {
	got := l.settings.Load()
	encoded, err := json.Marshal(got)
	if err != nil {
		return err.Error()
	}
	header := base64.StdEncoding.EncodeToString([]byte("user:" + got.Password))
	return fmt.Sprintf("spilled %+v %s %q Authorization: Basic %s", *got, encoded, got.Password, header)
}

func (l *leaky) OnSettingsChange(_ context.Context, change *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	if err := l.configure(change.Settings); err != nil {
		return nil, err
	}
	return nil, errors.New("settings refused: " + l.spilled())
}

// act spills the secrets when the message names the hook and the way.
func (l *leaky) act(message pluginsdk.Message, hook pluginsdk.Hook) error {
	switch {
	case !strings.Contains(message.Content, string(hook)):
	case strings.Contains(message.Content, "panic"):
		panic(l.spilled())
	case strings.Contains(message.Content, "crash"):
		go func() { panic(l.spilled()) }()
		select {}
	case strings.Contains(message.Content, "exit"):
		fmt.Fprintln(os.Stderr, l.spilled())
		os.Exit(3)
	default:
		return errors.New(l.spilled())
	}
	return nil
}

func (l *leaky) OnBeforeRun(_ context.Context, s *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	return nil, l.act(s.Message, pluginsdk.HookBeforeRun)
}

func (l *leaky) OnMessage(_ context.Context, m *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
	return nil, l.act(m.Message, pluginsdk.HookMessage)
}

func (l *leaky) OnBeforeInvoke(_ context.Context, p *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	return &pluginsdk.OnBeforeInvokeResponse{}, l.act(p.Message, pluginsdk.HookBeforeInvoke)
}

func (l *leaky) OnCommand(context.Context, *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	return nil, errors.New(l.spilled())
}
