package launch_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

func TestAPluginIsLaunchedStartedAndStopped(t *testing.T) {
	plugin := launched(t, config(t, "plugin"))
	manifest := plugin.Manifest()
	if manifest.Name != "test" || manifest.Version != "1.2.3" || !manifest.Answers(pluginsdk.HookMessage) || manifest.Answers(pluginsdk.HookCommand) {
		t.Errorf("manifest %+v", manifest)
	}
	ctx := t.Context()
	if err := errors.Join(plugin.Start(ctx), plugin.Activate(ctx), plugin.Ping(ctx)); err != nil {
		t.Fatal(err)
	}
	text, err := answerTo(ctx, plugin, "hello")
	if err != nil || text != "hello" {
		t.Errorf("answered %q, %v", text, err)
	}
	if err := errors.Join(plugin.Deactivate(ctx), plugin.Stop(within(t, patience))); err != nil {
		t.Error(err)
	}
	awaitDone(t, plugin)
	if err := plugin.ExitError(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if err := tell(ctx, plugin, message("")); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("a call after the stop: %v", err)
	}
	if err := plugin.Stop(within(t, patience)); err != nil {
		t.Errorf("a second stop: %v", err)
	}
}

func TestAForeignPluginIsLaunched(t *testing.T) {
	plugin := started(t, config(t, "foreign"))
	if err := plugin.Ping(t.Context()); err != nil || plugin.Manifest().Name != "foreign" {
		t.Errorf("ping: %v, manifest %+v", err, plugin.Manifest())
	}
	if err := plugin.Stop(within(t, patience)); err != nil {
		t.Error(err)
	}
}

func TestLaunchesThatFailSayWhy(t *testing.T) {
	path := config(t, "").Path
	for _, row := range []struct {
		name string
		cfg  launch.Config
		code pluginsdk.Code
		want string
	}{
		{"it ends at once", config(t, "dies-at-once"), pluginsdk.CodeUnavailable, "exit status 2); it last said: no such token"},
		{"it ends after its output", config(t, "dies-slowly"), pluginsdk.CodeUnavailable, "(exit status 3); it last said: no such module"},
		{"its manifest is wrong", config(t, "wrong-manifest"), pluginsdk.CodeUnavailable, "commands are declared but"},
		{"it is no plugin", config(t, "not-a-plugin"), pluginsdk.CodeInternal, "hello, I am a web server"},
		{"it never shakes hands", limited(config(t, "never-handshakes")), pluginsdk.CodeDeadline, "no handshake in time"},
		{"it is another", named(config(t, "plugin"), "discord"), pluginsdk.CodeInvalid, `its manifest names it "test"`},
		{"it is not there", at(config(t, "plugin"), path+".gone"), pluginsdk.CodeInternal, "no such file"},
		{"it has changed", summed(config(t, "plugin"), []byte("other")), pluginsdk.CodeDenied, "has changed since it was installed"},
		{"it serves in clear", config(t, "in-clear"), pluginsdk.CodeUnavailable, "first record does not look like a TLS handshake"},
		{"its certificate is another's", config(t, "names-another"), pluginsdk.CodeUnavailable, "certificate signed by unknown authority"},
		{"its manifest is too large", config(t, "oversized"), pluginsdk.CodeExhausted, "larger than max"},
		{"its sockets would have no name", sockets(config(t, "plugin"), "/"+strings.Repeat("x", 100)), pluginsdk.CodeInvalid, "too long for sockets"},
		{"nothing is asked for", launch.Config{}, pluginsdk.CodeInvalid, "Path is empty"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := newLauncher(t).Launch(t.Context(), row.cfg)
			if err == nil || !strings.Contains(err.Error(), row.want) || pluginsdk.CodeOf(err) != row.code {
				t.Errorf("error is %s %v, want %q", pluginsdk.CodeOf(err), err, row.want)
			}
		})
	}
}

// limited has a start timeout that a process is certain to miss.
func limited(cfg launch.Config) launch.Config {
	cfg.StartTimeout = 200 * time.Millisecond
	return cfg
}

func named(cfg launch.Config, name string) launch.Config {
	cfg.Name = name
	return cfg
}

func at(cfg launch.Config, path string) launch.Config {
	cfg.Path = path
	return cfg
}

func sockets(cfg launch.Config, dir string) launch.Config {
	cfg.SocketDir = dir
	return cfg
}

func summed(cfg launch.Config, content []byte) launch.Config {
	sum := sha256.Sum256(content)
	cfg.SHA256 = sum[:]
	return cfg
}

// go-plugin's own check works only once.
func TestAVerifiedPluginCanBeLaunchedAgain(t *testing.T) {
	cfg := config(t, "plugin")
	content, err := os.ReadFile(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	cfg = summed(cfg, content)
	for range 2 {
		if err := launched(t, cfg).Stop(within(t, patience)); err != nil {
			t.Error(err)
		}
	}
}

func TestALaunchThatIsGivenUpLeavesNothing(t *testing.T) {
	launcher := newLauncher(t)
	if _, err := launcher.Launch(ended(), config(t, "never-handshakes")); pluginsdk.CodeOf(err) != pluginsdk.CodeCancelled {
		t.Errorf("error is %v", err)
	}
}

func TestAStoppedLauncherLaunchesNothing(t *testing.T) {
	launcher := launch.NewLauncher()
	launcher.Start()
	plugin, err := launcher.Launch(t.Context(), config(t, "plugin"))
	if err != nil {
		t.Fatal(err)
	}
	launcher.Stop()
	awaitDone(t, plugin)
	if err := plugin.Stop(within(t, patience)); err != nil {
		t.Errorf("stop what was killed: %v", err)
	}
	if _, err := launcher.Launch(t.Context(), config(t, "plugin")); !errors.Is(err, launch.ErrStopped) {
		t.Errorf("error is %v", err)
	}
}

// A secret of the daemon must not reach a plugin it was not given to.
func TestThePluginsEnvironmentIsWhatItIsGiven(t *testing.T) {
	t.Setenv("HARNESS_TEST_SECRET", "hunter2")
	plugin := started(t, config(t, "plugin"))
	text, err := answerTo(t.Context(), plugin, "environment")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, "PATH=") {
		t.Errorf("the plugin's environment is\n%s", text)
	}
}

// The parent-death signal follows the thread that forked; a thread that ends
// would take the plugin with it.
func TestAPluginOutlivesTheThreadThatLaunchedIt(t *testing.T) {
	launcher := newLauncher(t)
	cfg := config(t, "plugin")
	plugins := make(chan *launch.Plugin, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		defer close(plugins)
		if plugin, err := launcher.Launch(context.Background(), cfg); err == nil {
			plugins <- plugin
		}
	}()
	plugin := <-plugins
	if plugin == nil {
		t.Fatal("not launched")
	}
	defer func() { _ = plugin.Stop(ended()) }()
	for range 20 {
		if err := plugin.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
