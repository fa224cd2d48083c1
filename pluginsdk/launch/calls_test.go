package launch_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

func TestAHostCallInsideAHookCarriesTheToken(t *testing.T) {
	host, cfg := plugintest.NewHost(), config(t, "plugin")
	cfg.Host = host.SDK()
	plugin := started(t, cfg)
	request := message("call-host key")
	request.Call = pluginsdk.Call{ID: "call-1", RunID: "run-1", Attempt: 1, Token: "secret"}
	if err := tell(t.Context(), plugin, request); err != nil {
		t.Fatal(err)
	}
	if got, want := host.Calls(), []plugintest.HostCall{{Method: "State.Put", Call: request.Call}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the host saw %+v", got)
	}
}

func TestAPanicInAHookIsAnErrorAndThePluginGoesOn(t *testing.T) {
	plugin := started(t, config(t, "plugin"))
	err := tell(t.Context(), plugin, message("panic at the disco"))
	if pluginsdk.CodeOf(err) != pluginsdk.CodeInternal || !strings.Contains(err.Error(), "at the disco") {
		t.Errorf("error is %v", err)
	}
	if err := tell(t.Context(), plugin, message("")); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func TestAPluginThatExitsInAHookSaysHow(t *testing.T) {
	log, cfg := newRecorder(), config(t, "plugin")
	cfg.Log = log.logger()
	plugin := started(t, cfg)
	err := tell(t.Context(), plugin, message("exit 3"))
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || !strings.Contains(err.Error(), "plugin test has ended (exit status 3)") {
		t.Errorf("error is %v", err)
	}
	awaitDone(t, plugin)
	if plugin.ExitError() == nil {
		t.Error("there is no exit error")
	}
	// Written just before the exit: go-plugin would lose it.
	if _, attrs, ok := log.find("last words"); !ok || attrs["code"] != "3" {
		t.Errorf("the last words are lost: %v", plugin.LastStderr())
	}
}

// A plugin may say itself that something is unavailable; that is no sign of
// its end.
func TestAnErrorOfThePluginsOwnIsLeftAsItIs(t *testing.T) {
	plugin := started(t, config(t, "plugin"))
	err := tell(t.Context(), plugin, message("unavailable Discord is down"))
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || err.Error() != "Discord is down" {
		t.Errorf("error is %v", err)
	}
	if err := plugin.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
}

func TestACrashIsExplainedByItsTrace(t *testing.T) {
	plugin := started(t, config(t, "plugin"))
	err := tell(t.Context(), plugin, message("crash in a goroutine"))
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("error is %v", err)
	}
	awaitDone(t, plugin)
	if trace := strings.Join(plugin.LastStderr(), "\n"); !strings.Contains(trace, "goroutine") {
		t.Errorf("the last of stderr is\n%s", trace)
	}
}

func TestACallPastItsDeadlineReturnsAndIsStillInFlight(t *testing.T) {
	plugin := started(t, config(t, "plugin"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	request := message("hang")
	request.Call.ID = "call-1"
	if err := tell(ctx, plugin, request); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	if ids, err := plugin.InFlight(t.Context()); err != nil || !reflect.DeepEqual(ids, []string{"call-1"}) {
		t.Errorf("in flight: %v, %v", ids, err)
	}
}

// A plugin that is stopped answers nothing; every call must end all the same.
func TestCallsToAFrozenPluginEnd(t *testing.T) {
	plugin := started(t, config(t, "plugin"))
	freeze(t, plugin.PID())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := plugin.Ping(ctx); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("ping: %v", err)
	}
	if err := tell(ctx, plugin, message("")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("hook: %v", err)
	}
}

// A message of a person's that is too large is no failure of the plugin that was
// to be told of it; an answer of a plugin's that is, is.
func TestMessagesPastTheLimitAreTheirSendersFault(t *testing.T) {
	plugin := started(t, config(t, "plugin"))
	if _, err := answerTo(t.Context(), plugin, "bytes 17825792"); pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted || errors.Is(err, launch.ErrTooLarge) {
		t.Errorf("an answer of 17 MiB: %s %v", pluginsdk.CodeOf(err), err)
	}
	if _, err := answerTo(t.Context(), plugin, strings.Repeat("x", 17<<20)); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !errors.Is(err, launch.ErrTooLarge) {
		t.Errorf("a request of 17 MiB: %s %v", pluginsdk.CodeOf(err), err)
	}
	if _, err := plugin.OnTaskComplete(t.Context(), &pluginsdk.OnTaskCompleteRequest{Task: pluginsdk.Task{Prompt: strings.Repeat("x", 17<<20)}}); !errors.Is(err, launch.ErrTooLarge) {
		t.Errorf("work of 17 MiB: %s %v", pluginsdk.CodeOf(err), err)
	}
	if err := tell(t.Context(), plugin, message("store 17825792")); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), "the request of PutState has") {
		t.Errorf("a call of the host of 17 MiB: %s %v", pluginsdk.CodeOf(err), err)
	}
	if text, err := answerTo(t.Context(), plugin, "bytes 15728640"); err != nil || len(text) != 15<<20 {
		t.Errorf("an answer of 15 MiB: %d bytes, %v", len(text), err)
	}
}

// A review takes as long as it takes: all that the daemon sees of it is what it
// reports, and that is how it knows that it is not stuck.
func TestWorkReportsAndEndsWithItsContext(t *testing.T) {
	plugin := started(t, config(t, "plugin"))
	work := func(words string) (heard []string, err error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ctx = pluginsdk.WithProgress(ctx, func(p pluginsdk.Progress) {
			if heard = append(heard, p.Message); p.Message == "wait" {
				cancel()
			}
		})
		response, err := plugin.OnTaskComplete(ctx, &pluginsdk.OnTaskCompleteRequest{Task: pluginsdk.Task{Prompt: words}})
		if err == nil && response.Verdict != pluginsdk.VerdictAccept {
			t.Errorf("answered %+v", response)
		}
		return heard, err
	}
	if heard, err := work(""); err != nil || heard != nil {
		t.Errorf("a silent one: %q, %v", heard, err)
	}
	if heard, err := work("building testing"); err != nil || !reflect.DeepEqual(heard, []string{"building", "testing"}) {
		t.Errorf("one that reports: %q, %v", heard, err)
	}
	if heard, err := work("building wait"); pluginsdk.CodeOf(err) != pluginsdk.CodeCancelled || len(heard) != 2 {
		t.Errorf("one that is cancelled: %q, %v", heard, err)
	}
	eventually(t, "the plugin has noticed", func() bool {
		ids, err := plugin.InFlight(t.Context())
		return err == nil && len(ids) == 0
	})
}

func TestAKilledPluginIsNoticed(t *testing.T) {
	plugin := started(t, config(t, "plugin"))
	if err := syscall.Kill(plugin.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitDone(t, plugin)
	if err := plugin.ExitError(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("exit error is %v", err)
	}
	if err := tell(t.Context(), plugin, message("")); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("a call to the dead: %v", err)
	}
}
