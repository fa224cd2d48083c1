package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type author struct{ manifest pluginsdk.Manifest }

func (a author) Manifest() pluginsdk.Manifest { return a.manifest }

func good() author {
	return author{pluginsdk.Manifest{Name: "clock", Version: "1.0.0", Description: "Tells the time."}}
}

// A person who starts the binary by hand must learn what it is and what to do.
func TestAPluginStartedByHandExplainsItself(t *testing.T) {
	var stderr bytes.Buffer
	if code := introduce(good(), &stderr); code != 1 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"clock 1.0.0", "a plugin of Harness", "Tells the time.", "plugin directory as clock", "harness plugin enable clock", os.Args[0] + " " + DescribeFlag} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, stderr.String())
		}
	}
}

func TestAPluginWithAWrongManifestSaysWhatIsWrong(t *testing.T) {
	wrong := good()
	wrong.manifest.Version = ""
	var stdout, stderr bytes.Buffer
	if code := introduce(wrong, &stderr); code != 1 || !strings.Contains(stderr.String(), "version") {
		t.Errorf("exit code %d:\n%s", code, stderr.String())
	}
	stderr.Reset()
	if code := describe(wrong, &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), "version") || stdout.Len() > 0 {
		t.Errorf("exit code %d:\n%s", code, stderr.String())
	}
}

// halves have one half of what a plugin has that acts.
type (
	activated   struct{ author }
	deactivated struct{ author }
)

func (activated) Activate(context.Context) error     { return nil }
func (deactivated) Deactivate(context.Context) error { return nil }

// A plugin that is never activated, because it cannot be deactivated, would do nothing, and
// its author would look for the reason elsewhere.
func TestAPluginWithHalfAnActivatorIsRefused(t *testing.T) {
	for half, p := range map[string]pluginsdk.Plugin{"no Deactivate": activated{good()}, "no Activate": deactivated{good()}} {
		var stdout, stderr bytes.Buffer
		if code := describe(p, &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), half) {
			t.Errorf("%s: exit code %d:\n%s", half, code, stderr.String())
		}
	}
}

// hooked answers one hook.
type hooked struct {
	author
	pluginsdk.MessageHook
}

func TestDescribePrintsTheManifestWithItsHooks(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := describe(hooked{author: good()}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	var manifest pluginsdk.Manifest
	if err := json.Unmarshal(stdout.Bytes(), &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Name != "clock" || len(manifest.Hooks) != 1 || !manifest.Answers(pluginsdk.HookMessage) {
		t.Errorf("described %+v", manifest)
	}
}

func TestAliveKnowsTheLivingFromTheDead(t *testing.T) {
	if !alive(os.Getpid()) {
		t.Error("this process is said to be dead")
	}
	dead := exec.Command(os.Args[0], "-test.run=^$")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	if alive(dead.Process.Pid) {
		t.Error("a process that has ended is said to be alive")
	}
}
