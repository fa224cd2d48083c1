package daemon

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/toolserver"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func loadDeadlines(t *testing.T, value string) (Config, error) {
	t.Helper()
	return Load(t.TempDir(), func(name string) (string, bool) { return value, name == "HARNESS_HOOK_DEADLINES" })
}

// A deadline that is accepted and then applies to nothing is a setting that an
// operator relies on in vain.
func TestHookDeadlinesAreOfHooksThatAreFired(t *testing.T) {
	config, err := loadDeadlines(t, "OnBeforeInvoke=20s, OnBeforeRun = 1m")
	want := map[pluginsdk.Hook]time.Duration{pluginsdk.HookBeforeInvoke: 20 * time.Second, pluginsdk.HookBeforeRun: time.Minute}
	if err != nil || !maps.Equal(config.HookDeadlines, want) {
		t.Errorf("deadlines = %v, %v", config.HookDeadlines, err)
	}
	for _, hook := range boundedHooks() {
		if _, err := loadDeadlines(t, string(hook)+"=1s"); err != nil {
			t.Errorf("%s: %v", hook, err)
		}
	}
	for _, hook := range []pluginsdk.Hook{pluginsdk.HookTaskComplete, "OnNothing"} {
		_, err := loadDeadlines(t, string(hook)+"=1s")
		if err == nil {
			t.Errorf("a deadline of %s is accepted", hook)
			continue
		}
		for _, wanted := range append(boundedHooks(), hook) {
			if !strings.Contains(err.Error(), string(wanted)) {
				t.Errorf("%q does not name %s", err, wanted)
			}
		}
	}
	for _, value := range []string{"OnMessage", "OnMessage=soon", "OnMessage=-1s"} {
		if _, err := loadDeadlines(t, value); err == nil || !strings.Contains(err.Error(), "HARNESS_HOOK_DEADLINES") {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// Bounds that would leave the agent without a tool, or without a context, are
// mistakes.
func TestTheBoundsOfToolsAreReasonable(t *testing.T) {
	load := func(name, value string) (toolserver.Bounds, error) {
		config, err := Load(t.TempDir(), func(asked string) (string, bool) { return value, asked == name })
		return config.ToolBounds, err
	}
	if bounds, err := load("HARNESS_TOOLS_MAX", "300"); err != nil || bounds != (toolserver.Bounds{Tools: 300, Bytes: 128 << 10}) {
		t.Errorf("%+v, %v", bounds, err)
	}
	if bounds, err := load("HARNESS_TOOLS_BYTES", "256KiB"); err != nil || bounds != (toolserver.Bounds{Tools: 128, Bytes: 256 << 10}) {
		t.Errorf("%+v, %v", bounds, err)
	}
	for value, name := range map[string]string{
		"0": "HARNESS_TOOLS_MAX", "many": "HARNESS_TOOLS_MAX", "1001": "HARNESS_TOOLS_MAX",
		"100": "HARNESS_TOOLS_BYTES", "1GiB": "HARNESS_TOOLS_BYTES", "much": "HARNESS_TOOLS_BYTES",
	} {
		if _, err := load(name, value); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

// An operator finds every setting in docs/operating.md, and none that is not
// there.
func TestEverySettingIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(page), "The terminal (")
	var documented, known []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		documented = append(documented, row[1])
	}
	for _, v := range variables {
		known = append(known, v.name)
	}
	slices.Sort(documented)
	slices.Sort(known)
	if !slices.Equal(documented, known) {
		t.Errorf("documented are %v;\nthere are %v", documented, known)
	}
}
