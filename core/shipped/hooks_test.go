package shipped_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// sources calls visit with each Go file of a shipped plugin that is no test.
func sources(t *testing.T, plugin string, visit func(path string)) {
	t.Helper()
	found := 0
	err := filepath.WalkDir(filepath.Join("..", "..", "plugins", plugin), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			found++
			visit(path)
		}
		return err
	})
	if err != nil || found == 0 {
		t.Fatalf("%d files of %s are read: %v", found, plugin, err)
	}
}

// hooksOf returns the hooks that a shipped plugin answers: the methods of its type Plugin, which
// is what it serves.
func hooksOf(t *testing.T, plugin string) (hooks []pluginsdk.Hook) {
	t.Helper()
	sources(t, plugin, func(path string) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			method, ok := declared.(*ast.FuncDecl)
			if !ok || method.Recv == nil || !servesAs(method.Recv.List[0].Type, "Plugin") {
				continue
			}
			if hook := pluginsdk.Hook(method.Name.Name); slices.Contains(pluginsdk.AllHooks(), hook) {
				hooks = append(hooks, hook)
			}
		}
	})
	return hooks
}

func servesAs(receiver ast.Expr, name string) bool {
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	named, ok := receiver.(*ast.Ident)
	return ok && named.Name == name
}

// A shipped plugin whose hook has no grant is installed, serves, and is never asked; a gate
// without one has all work wait.
func TestTheGrantsOfShippedPluginsCoverTheirHooks(t *testing.T) {
	for _, plugin := range shipped.Plugins {
		hooks := hooksOf(t, plugin.Name)
		if len(hooks) == 0 {
			t.Errorf("%s answers no hook: its type is not called Plugin any more?", plugin.Name)
		}
		granted, _ := shipped.Plugins.After(plugin.Name, 0)
		for _, hook := range hooks {
			spec, _ := hook.Spec()
			if spec.Capability != "" && !slices.Contains(granted, spec.Capability) {
				t.Errorf("%s answers %s, for which it needs %s: add a version of its grants with that", plugin.Name, hook, spec.Capability)
			}
		}
	}
}

// operators finds the settings that a plugin's schema marks as an operator's.
var (
	operators = regexp.MustCompile(`"(\w+)":\s*\{\s*"operator":\s*true`)
	marks     = regexp.MustCompile(`"operator":\s*true`)
)

// A setting that is a command, a directory or trust, and is missing in one of the two lists, is
// changed by any plugin that may change settings.
func TestTheOperatorsSettingsAreThoseThatSchemasMark(t *testing.T) {
	marked := make(map[string][]string)
	for _, plugin := range shipped.Plugins {
		sources(t, plugin.Name, func(path string) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found := operators.FindAllStringSubmatch(string(raw), -1)
			for _, match := range found {
				marked[plugin.Name] = append(marked[plugin.Name], match[1])
			}
			if n := len(marks.FindAll(raw, -1)); n != len(found) {
				t.Errorf("%s marks %d settings, and %d are read: write \"operator\" as the first word of each", path, n, len(found))
			}
		})
		slices.Sort(marked[plugin.Name])
	}
	for _, name := range slices.Sorted(maps.Keys(marked)) {
		if !slices.Equal(marked[name], shipped.Operators[name]) {
			t.Errorf("the schema of %s marks %q, shipped.Operators has %q", name, marked[name], shipped.Operators[name])
		}
	}
	for name := range shipped.Operators {
		if len(marked[name]) == 0 {
			t.Errorf("shipped.Operators has %s, whose schema marks nothing", name)
		}
	}
}

// Who is shown memory, whose application the bot is (its owner is the assistant's, when no other
// is set), and where reports go, is for a person to say: a plugin that may change settings must
// not give a stranger more than it has itself.
func TestWhoIsTrustedIsNotForPluginsToSay(t *testing.T) {
	for plugin, settings := range map[string][]string{
		"context": {"threads", "filesForOthers"}, "discord": {"token", "owner", "channel"},
	} {
		for _, setting := range settings {
			if !slices.Contains(shipped.Operators[plugin], setting) {
				t.Errorf("any plugin with plugins.admin changes %s of %s", setting, plugin)
			}
		}
	}
}
