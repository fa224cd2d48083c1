package daemon_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

const (
	ferryName  = "ferry"
	lighthouse = "lighthouse" // a ferry of which only one may be active
)

// The variables that make a process of the test binary one version of a ferry.
const (
	ferryAs      = "FERRY_AS"      // the plugin's name
	ferryVersion = "FERRY_VERSION" // its version
	ferryFault   = "FERRY_FAULT"   // what is wrong with it: activate, describe, start
	ferryDir     = "FERRY_DIR"     // where it writes and holds things
)

// ferry is a plugin of somebody else, installed from a package: it answers what
// a run passes, and notes every call with its version and its process.
type ferry struct {
	name, version, fault, dir string
	journal                   *os.File
	host                      pluginsdk.Host
}

func runFerry() {
	f := &ferry{name: os.Getenv(ferryAs), version: os.Getenv(ferryVersion), fault: os.Getenv(ferryFault), dir: os.Getenv(ferryDir)}
	journal, err := os.OpenFile(filepath.Join(f.dir, f.name+".journal"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	f.journal = journal
	serve.Main(f)
}

// ferryEntry is a line of a ferry's journal.
type ferryEntry struct {
	Version, Hook, Run, Value string
	PID                       int
}

func (f *ferry) note(hook, run, value string) error {
	line, err := json.Marshal(ferryEntry{Version: f.version, Hook: hook, Run: run, Value: value, PID: os.Getpid()})
	if err != nil {
		return err
	}
	_, err = f.journal.Write(append(line, '\n'))
	return err
}

func (f *ferry) Manifest() pluginsdk.Manifest {
	m := ferryManifest(f.name, f.version)
	if f.fault == "describe" { // it says more than its plugin.json
		m.Commands = append(m.Commands, pluginsdk.CommandSpec{Name: "more"})
	}
	return m
}

func ferryManifest(name, version string) pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: name, Version: version, Exclusive: name == lighthouse,
		Commands: []pluginsdk.CommandSpec{{Name: name, Description: "says its version"}},
		Events:   []string{string(pluginsdk.EventPipelineComplete)},
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapThreadsRead, Reason: "to know the thread's name"},
			{Capability: pluginsdk.CapEventsRead, Reason: "to count events"},
		},
		SettingsSchema: json.RawMessage(`{"type":"object","properties":{"tide":{"type":"integer"}}}`),
		Needs:          map[pluginsdk.Hook][]pluginsdk.Part{pluginsdk.HookBeforeInvoke: {pluginsdk.PartMessage}},
		Hooks: []pluginsdk.Hook{
			pluginsdk.HookPipelineStart, pluginsdk.HookMessage, pluginsdk.HookBeforeInvoke, pluginsdk.HookAfterInvoke,
			pluginsdk.HookCommand, pluginsdk.HookBeforeReply, pluginsdk.HookPipelineComplete,
			pluginsdk.HookSettingsChange, pluginsdk.HookBroadcast,
		},
	}
}

func (f *ferry) Start(_ context.Context, host pluginsdk.Host) error {
	if f.fault == "start" {
		os.Exit(3)
	}
	f.host = host
	return f.note("Start", "", "")
}

// Activate takes what an exclusive plugin has alone: the directory that only one
// can make stands for a bot's connection.
func (f *ferry) Activate(context.Context) error {
	if f.fault == "activate" {
		return errors.New("no berth is free")
	}
	if f.name != lighthouse {
		return nil
	}
	return os.Mkdir(filepath.Join(f.dir, "held"), 0o700)
}

func (f *ferry) Deactivate(context.Context) error {
	if f.name != lighthouse {
		return nil
	}
	return os.Remove(filepath.Join(f.dir, "held"))
}

func (f *ferry) OnPipelineStart(_ context.Context, s *pluginsdk.OnPipelineStartRequest) (*pluginsdk.OnPipelineStartResponse, error) {
	return nil, f.note("OnPipelineStart", s.Call.RunID, "")
}

func (f *ferry) OnMessage(ctx context.Context, m *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
	thread, err := f.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: m.Thread.ID})
	if err != nil {
		return nil, err
	}
	return nil, f.note("OnMessage", m.Call.RunID, thread.Thread.Name)
}

// OnBeforeInvoke keeps a message that says so until the test lets it go.
func (f *ferry) OnBeforeInvoke(ctx context.Context, p *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	err := f.note("OnBeforeInvoke", p.Call.RunID, "")
	if strings.Contains(p.Message.Content, "wait for the tide") {
		err = errors.Join(err, awaitFile(ctx, filepath.Join(f.dir, "tide")))
	}
	return &pluginsdk.OnBeforeInvokeResponse{}, err
}

func (f *ferry) OnAfterInvoke(_ context.Context, i *pluginsdk.OnAfterInvokeRequest) (*pluginsdk.OnAfterInvokeResponse, error) {
	return nil, f.note("OnAfterInvoke", i.Call.RunID, "")
}

func (f *ferry) OnCommand(_ context.Context, c *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: f.stamp()}, f.note("OnCommand", c.Call.RunID, "")
}

func (f *ferry) OnBeforeReply(_ context.Context, r *pluginsdk.OnBeforeReplyRequest) (*pluginsdk.OnBeforeReplyResponse, error) {
	return &pluginsdk.OnBeforeReplyResponse{Text: new(r.Text + " " + f.stamp())}, f.note("OnBeforeReply", r.Call.RunID, "")
}

func (f *ferry) stamp() string { return "<" + f.name + " " + f.version + ">" }

func (f *ferry) OnPipelineComplete(_ context.Context, c *pluginsdk.OnPipelineCompleteRequest) (*pluginsdk.OnPipelineCompleteResponse, error) {
	return nil, f.note("OnPipelineComplete", c.Call.RunID, "")
}

func (f *ferry) OnBroadcast(_ context.Context, request *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	var heard []string
	for _, event := range request.Events {
		var complete pluginsdk.CompletePayload
		_ = json.Unmarshal(event.Data, &complete) // a resync has none
		heard = append(heard, cmp.Or(complete.RunID, string(event.Type)))
	}
	return nil, f.note("OnBroadcast", "", strings.Join(heard, " "))
}

func (f *ferry) OnSettingsChange(_ context.Context, c *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	return nil, f.note("OnSettingsChange", "", string(c.Settings))
}

// harbour is an operator of the running daemon, and where its ferries write.
type harbour struct {
	in       *installation
	store    *store.Store
	depot    *depot.Depot
	dir      string
	versions map[string]ledger.Plugin // installed once, by name and version
}

func (in *installation) harbour() *harbour {
	in.t.Helper()
	packages, err := in.config.Depot()
	if err != nil {
		in.t.Fatal(err)
	}
	data := in.config.Data
	in.t.Cleanup(func() { makeWritable(data) })
	return &harbour{in: in, depot: packages, dir: in.t.TempDir(), versions: make(map[string]ledger.Plugin)}
}

// makeWritable lets the test remove what the depot has made read-only.
func makeWritable(dir string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a directory of the test
		}
		return nil
	})
}

// open reaches the registry of the daemon, which runs.
func (h *harbour) open() { h.store = h.in.database() }

// build writes a version of a ferry as its author would hand it out: a
// plugin.json and an executable.
func (h *harbour) build(name, version, fault string) (source string) {
	t := h.in.t
	t.Helper()
	source = t.TempDir()
	link := filepath.Join(source, "bin", ferryName)
	static, err := json.Marshal(ferryManifest(name, version))
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s=%s %s=%s %s=%s %s=%s exec %s\n",
		ferryAs, name, ferryVersion, version, ferryFault, fault, ferryDir, h.dir, link)
	plugin := filepath.Join(source, "package")
	for _, err := range []error{
		os.Mkdir(filepath.Dir(link), 0o700), os.Symlink(filepath.Join(pluginDir, partsName), link), os.Mkdir(plugin, 0o700),
		os.WriteFile(filepath.Join(plugin, "plugin.json"), static, 0o600),
		os.WriteFile(filepath.Join(plugin, name), []byte(script), 0o700), //nolint:gosec // it is an executable
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return plugin
}

// use makes a version the one that is to run, as `harness plugin install --yes
// --grant all --enable`, `upgrade` and `rollback` do.
func (h *harbour) use(name, version, fault string) {
	t := h.in.t
	t.Helper()
	row, known := h.versions[name+version]
	install := func(path string) error {
		row.Path = path
		return h.store.InstallPlugin(t.Context(), row)
	}
	if known {
		if err := errors.Join(h.depot.Verify(h.in.t.Context(), row), install(row.Path)); err != nil {
			t.Fatal(err)
		}
		return
	}
	p, err := h.depot.Stage(t.Context(), h.build(name, version, fault))
	if err != nil {
		t.Fatal(err)
	}
	row = ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{
		Name: name, Origin: pluginsdk.OriginStore, SHA256: p.SHA256, Version: p.Manifest.Version, Manifest: p.Manifest,
	}}
	if err := p.Keep(t.Context(), install); err != nil {
		t.Fatal(err)
	}
	h.versions[name+version] = row
	err = errors.Join(
		h.store.SetPluginGrants(t.Context(), name, withHooks(pluginsdk.CapThreadsRead, pluginsdk.CapEventsRead), nil),
		h.store.SetPluginEnabled(t.Context(), name, true))
	if err != nil {
		t.Fatal(err)
	}
}

// toggle turns plugins off or on, and waits until they are.
func (h *harbour) toggle(on bool, names ...string) {
	h.in.t.Helper()
	want := pluginsdk.PluginDisabled
	if on {
		want = pluginsdk.PluginServing
	}
	for _, name := range names {
		if err := h.store.SetPluginEnabled(h.in.t.Context(), name, on); err != nil {
			h.in.t.Fatal(err)
		}
	}
	for _, name := range names {
		h.in.until(name+" is "+string(want), func() bool { return plugin(h.in.t, h.store, name).State == want })
	}
}

// journal is what the ferries of a name have noted.
func (h *harbour) journal(name string) (entries []ferryEntry) {
	h.in.t.Helper()
	content, err := os.ReadFile(filepath.Join(h.dir, name+".journal"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.in.t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		var entry ferryEntry
		if !strings.HasSuffix(line, "\n") {
			break // it is being written
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			h.in.t.Fatalf("journal of %s: %v: %s", name, err, line)
		}
		entries = append(entries, entry)
	}
	return entries
}

// awaitFile waits for what another process makes.
func awaitFile(ctx context.Context, path string) error {
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond): // nothing signals across processes
		}
	}
}
