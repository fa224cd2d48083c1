package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// The test binary is a plugin when it is started under a name of this list.
var parts = []string{"first", "second", "dies", "listens", "alone", "gate", "chatty", "looks", "carries", "rivals", "wants", "picky", "choosy", "news"}

func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); slices.Contains(parts, name) {
		version := strings.TrimPrefix(filepath.Base(filepath.Dir(os.Args[0])), "version-")
		p := part{name: name, version: version}
		switch name {
		case "listens":
			serve.Main(&listener{part: p})
		case "gate":
			serve.Main(&gate{p})
		case "looks":
			if version != "2.0.0" {
				serve.Main(&looker{p})
			}
		case "news":
			serve.Main(&newsman{p})
		case "picky":
			serve.Main(&picky{choosy{p}})
		case "choosy":
			serve.Main(&choosy{p})
		case "carries", "rivals":
			serve.Main(&carrier{p})
		}
		serve.Main(&p)
		return
	}
	os.Exit(run(m))
}

// partsFile is the test binary without the race detector, with which a process takes a
// second more to end and a multiple of the time to start: it looks for races in the host.
var partsFile string

func run(m *testing.M) int {
	if !raced {
		partsFile, _ = os.Executable()
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "pluginhost")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	partsFile = filepath.Join(dir, "parts")
	build := exec.Command("go", "test", "-c", "-trimpath", "-ldflags", "-s -w", "-o", partsFile, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the plugins: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}

// part is a plugin whose version is that of the directory it lies in.
type part struct{ name, version string }

func (p *part) Manifest() pluginsdk.Manifest {
	manifest := pluginsdk.Manifest{
		Name: p.name, Version: p.version, Exclusive: p.name == "alone",
		Commands:    []pluginsdk.CommandSpec{{Name: "say-" + p.name}},
		Environment: []pluginsdk.EnvironmentRequest{{Name: "PLUGINHOST_TEST_ASKED", Reason: "test"}, {Name: "HARNESS_SECRETS_KEY", Reason: "test"}, {Name: "PLUGINHOST_TEST_REFUSED", Reason: "test"}},
	}
	if p.version == "3.0.0" {
		manifest.Commands = append(manifest.Commands, pluginsdk.CommandSpec{Name: "new"})
	}
	if p.name == "second" {
		manifest.Commands = append(manifest.Commands, pluginsdk.CommandSpec{Name: "say-first"}, pluginsdk.CommandSpec{Name: "stop"})
	}
	return manifest
}

func (p *part) Activate(context.Context) error {
	if p.name == "dies" || p.version == "broken" {
		return errors.New("no port to be had")
	}
	if p.version == "wordy" {
		return errors.New("a long story: " + strings.Repeat("x", 7<<10))
	}
	if p.name == "wants" { // a port, as long as a file is there that takes it
		if _, err := os.Stat(taken(os.Args[0])); err == nil {
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the port is taken")
		}
	}
	if p.name == "alone" { // it holds what only one can
		return os.Mkdir(filepath.Join(filepath.Dir(filepath.Dir(os.Args[0])), "held"), 0o700)
	}
	return nil
}

// taken is the file that takes the port that the plugin wants of which this is the
// executable.
func taken(path string) string { return filepath.Join(filepath.Dir(filepath.Dir(path)), "taken") }

func (p *part) Deactivate(context.Context) error {
	if p.name == "alone" {
		return os.Remove(filepath.Join(filepath.Dir(filepath.Dir(os.Args[0])), "held"))
	}
	return nil
}

func (p *part) OnCommand(_ context.Context, c *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	word, rest, _ := strings.Cut(c.Body, " ")
	switch word {
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		select {} // it may take a moment to stop
	case "eat":
		p.eat()
	case "environment":
		return &pluginsdk.OnCommandResponse{Handled: true, Reply: strings.Join(os.Environ(), "\n")}, nil
	case "version":
		return &pluginsdk.OnCommandResponse{Handled: true, Reply: p.version}, nil
	case "hold": // until a file is there, whatever the caller wants; another says that it is held
		_ = os.WriteFile(rest+".held", nil, 0o600)
		for {
			if _, err := os.Stat(rest); err == nil {
				break
			}
			<-time.After(time.Millisecond)
		}
	case "log":
		slog.Warn(rest, "key", rest, rest, "value")
	}
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: p.name}, nil
}

var eaten []byte

// eat takes 160 MiB of memory and keeps it.
func (p *part) eat() {
	eaten = make([]byte, 160<<20)
	for n := range eaten {
		eaten[n] = 1
	}
}

// gate is a plugin that a run must not go on without.
type gate struct{ part }

func (*gate) OnBeforeRun(context.Context, *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	return nil, nil
}

// looker says of its surroundings what stands in a file: checks, or how it fails. Its
// version 2.0.0 is not asked.
type looker struct{ part }

func (*looker) OnCheck(context.Context, *pluginsdk.OnCheckRequest) (*pluginsdk.OnCheckResponse, error) {
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(os.Args[0])), "checks"))
	if err != nil {
		return &pluginsdk.OnCheckResponse{Checks: []pluginsdk.Check{{Name: "file", State: pluginsdk.CheckOK}}}, nil
	}
	answer := &pluginsdk.OnCheckResponse{}
	if json.Unmarshal(raw, &answer.Checks) != nil && json.Unmarshal(raw, answer) != nil {
		return nil, misbehave(string(raw))
	}
	return answer, nil
}

// newsman says of a scheduled job what the question's data wants it to.
type newsman struct{ part }

func (*newsman) OnCron(_ context.Context, r *pluginsdk.OnCronRequest) (*pluginsdk.OnCronResponse, error) {
	how, rest, _ := strings.Cut(r.Question.Data, " ")
	switch how {
	case "quiet":
		return &pluginsdk.OnCronResponse{Text: rest}, nil
	case "mute":
		return nil, nil
	case "long":
		return &pluginsdk.OnCronResponse{News: true, Text: strings.Repeat("x", pluginsdk.MaxCronText+1)}, nil
	case "garbled":
		return &pluginsdk.OnCronResponse{News: true, Text: "\xff"}, nil
	case "says":
		return &pluginsdk.OnCronResponse{News: true, Text: r.Question.Job + ": " + rest}, nil
	}
	return nil, misbehave(how)
}

// carrier carries the replies of a source that it has named beside its own.
type carrier struct{ part }

func (c *carrier) Manifest() pluginsdk.Manifest {
	manifest := c.part.Manifest()
	manifest.Sources = []string{"shared", c.name}
	return manifest
}

func (*carrier) Deliver(context.Context, *pluginsdk.DeliverRequest) (*pluginsdk.DeliverResponse, error) {
	return nil, nil
}

// listener answers what the host itself asks, as the event or the setting says.
type listener struct {
	part

	host pluginsdk.Host
}

func (l *listener) Manifest() pluginsdk.Manifest {
	manifest := l.part.Manifest()
	manifest.EventRules = []pluginsdk.EventRule{{Threads: []string{"of the manifest"}}}
	return manifest
}

// Start listens by itself from the version 5.0.0 on.
func (l *listener) Start(ctx context.Context, host pluginsdk.Host) error {
	if l.host = host; l.version < "5" {
		return nil
	}
	return l.listen(ctx, "of Start")
}

func (l *listener) listen(ctx context.Context, thread string) error {
	_, err := l.host.Events.Listen(ctx, &pluginsdk.ListenEventsRequest{Rules: []pluginsdk.EventRule{{Threads: []string{thread}}}})
	return err
}

func (l *listener) OnBroadcast(ctx context.Context, r *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	if words := string(r.Events[0].Type); strings.HasPrefix(words, "x:listen") {
		return nil, l.listen(ctx, "of "+l.version)
	}
	return nil, misbehave(string(r.Events[0].Type))
}

func (*listener) OnSettingsChange(_ context.Context, r *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	return nil, misbehave(string(r.Settings))
}

func misbehave(how string) error {
	switch {
	case strings.Contains(how, "error"):
		return errors.New("hostile on purpose")
	case strings.Contains(how, "panic"):
		panic("hostile on purpose")
	case strings.Contains(how, "exit"):
		os.Exit(3)
	case strings.Contains(how, "kill"):
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case strings.Contains(how, "hang"):
		select {}
	}
	return nil
}
