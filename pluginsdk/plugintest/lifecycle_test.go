package plugintest_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

func TestTheManifestDeclaresWhatIsImplemented(t *testing.T) {
	plugin := plugintest.Serve(t, newEverything(), plugintest.NewHost().SDK())
	manifest := plugin.Manifest()
	if manifest.Name != "everything" || !reflect.DeepEqual(manifest.Hooks, pluginsdk.AllHooks()) {
		t.Errorf("manifest is %+v", manifest)
	}
}

func TestActivateAndDeactivateMayBeRepeated(t *testing.T) {
	author := newEverything()
	plugin := plugintest.Serve(t, author, plugintest.NewHost().SDK())
	for range 2 {
		if err := plugin.Activate(t.Context()); err != nil || !author.isActive() {
			t.Errorf("activate: %v, active %v", err, author.isActive())
		}
		if err := plugin.Deactivate(t.Context()); err != nil || author.isActive() {
			t.Errorf("deactivate: %v, active %v", err, author.isActive())
		}
	}
}

func TestASecondStartIsRefused(t *testing.T) {
	plugin := plugintest.Serve(t, newEverything(), plugintest.NewHost().SDK())
	if err := plugin.Start(t.Context()); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Errorf("error is %v", err)
	}
}

// broken is a plugin with a wrong manifest that cannot start.
type broken struct{}

func (broken) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: "Broken", Version: "1"}
}

func TestAWrongManifestIsRefused(t *testing.T) {
	if _, err := plugintest.New(t, broken{}, pluginsdk.Host{}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("error is %v", err)
	}
}

// moody fails to start, with a code.
type moody struct{ nothing }

func (moody) Start(context.Context, pluginsdk.Host) error {
	return pluginsdk.Errorf(pluginsdk.CodeExhausted, "no token")
}

func TestAStartThatFailsKeepsItsCode(t *testing.T) {
	plugin, err := plugintest.New(t, moody{}, pluginsdk.Host{})
	if err != nil {
		t.Fatal(err)
	}
	if err := plugin.Start(t.Context()); pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted || err.Error() != "no token" {
		t.Errorf("error is %v", err)
	}
}
