package launch_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// modeKey makes the test binary be a plugin (or what else a test needs as a
// process of its own) instead of running tests.
const modeKey = "HARNESS_TEST_MODE"

// pathKey tells a daemon which plugin to launch, and a script which binary.
const pathKey = "HARNESS_TEST_PATH"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeKey); mode != "" {
		become(mode)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// patience is for what is expected to happen; a test that runs into it fails.
const patience = 30 * time.Second

func newLauncher(t testing.TB) *launch.Launcher {
	t.Helper()
	launcher := launch.NewLauncher()
	launcher.Start()
	t.Cleanup(launcher.Stop)
	return launcher
}

// config launches the test binary as a plugin of a mode.
func config(t testing.TB, mode string) launch.Config {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return launch.Config{
		Path: path,
		// The race detector sleeps for a second at every exit otherwise.
		Env:  []string{modeKey + "=" + mode, "GORACE=atexit_sleep_ms=0"},
		Host: plugintest.NewHost().SDK(),
		Log:  slog.New(slog.DiscardHandler),

		StartTimeout: patience,
	}
}

// launched returns a plugin that is stopped with the test.
func launched(t testing.TB, cfg launch.Config) *launch.Plugin {
	t.Helper()
	plugin, err := newLauncher(t).Launch(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plugin.Stop(ended()) })
	return plugin
}

// started returns a plugin that was launched and started.
func started(t testing.TB, cfg launch.Config) *launch.Plugin {
	t.Helper()
	plugin := launched(t, cfg)
	if err := plugin.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	return plugin
}

// ended is a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// eventually waits for a condition that no channel tells of.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ticks := time.NewTicker(2 * time.Millisecond)
	defer ticks.Stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !condition() {
		select {
		case <-ticks.C:
		case <-limit.C:
			t.Fatalf("never: %s", what)
		}
	}
}

// awaitDone waits for the plugin's process to end.
func awaitDone(t testing.TB, plugin *launch.Plugin) {
	t.Helper()
	select {
	case <-plugin.Done():
	case <-time.After(patience):
		t.Fatal("the plugin's end was never noticed")
	}
}

// message is a request that says what the test plugin should do.
func message(content string) *pluginsdk.OnMessageRequest {
	return &pluginsdk.OnMessageRequest{Message: pluginsdk.Message{Content: content}}
}

// tell makes the test plugin do what a message says.
func tell(ctx context.Context, plugin *launch.Plugin, request *pluginsdk.OnMessageRequest) error {
	_, err := plugin.OnMessage(ctx, request)
	return err
}

// answerTo is what a plugin makes of a prompt.
func answerTo(ctx context.Context, plugin *launch.Plugin, prompt string) (string, error) {
	response, err := plugin.OnBeforeInvoke(ctx, &pluginsdk.OnBeforeInvokeRequest{Prompt: prompt})
	if err != nil || response.Prompt == nil {
		return "", err
	}
	return *response.Prompt, nil
}
