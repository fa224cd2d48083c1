package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folders are those of the plugins: what is below plugins and has a New.
func folders(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			if function, ok := declared.(*ast.FuncDecl); ok && function.Recv == nil && function.Name.Name == "New" {
				names = append(names, filepath.Base(filepath.Dir(path)))
			}
		}
	}
	return names
}

// A plugin that is in no program is one that nobody gets.
func TestItPlaysThePluginsThatThereAre(t *testing.T) {
	there := folders(t)
	if played := slices.Sorted(maps.Keys(plugins)); len(there) == 0 || !slices.Equal(played, there) {
		t.Errorf("it plays %v; there are %v", played, there)
	}
	for name, makes := range plugins {
		if manifest := makes().Manifest(); manifest.Name != name {
			t.Errorf("under the name %s it plays %s", name, manifest.Name)
		}
	}
	for _, name := range there { // make plugins
		if found, err := filepath.Glob("../" + name + "/main.go"); err != nil || len(found) != 1 {
			t.Errorf("there is no program of %s by itself: %v", name, err)
		}
	}
}

func TestWhichPluginACommandLineStarts(t *testing.T) {
	for line, want := range map[string]string{
		"web":                                    "web: web",
		"/opt/harness/bin/plugins/time --debug":  "time: /opt/harness/bin/plugins/time --debug",
		"bin/harness-plugins time --describe":    "time: bin/harness-plugins+time --describe",
		"bin/plugins/web time":                   "web: bin/plugins/web time",
		"bin/harness-plugins":                    ": ",
		"bin/harness-plugins --describe":         ": ",
		"bin/harness-plugins clock":              ": ",
		"bin/plugins/validation end-all-of true": "validation: bin/plugins/validation end-all-of true",
	} {
		name, seen := playedBy(strings.Fields(line))
		if len(seen) > 0 {
			seen[0] = strings.ReplaceAll(seen[0], " ", "+")
		}
		if got := name + ": " + strings.Join(seen, " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// Whoever starts it under another name has to learn what it is.
func TestItIntroducesItself(t *testing.T) {
	var said bytes.Buffer
	introduce(&said, "bin/harness-plugins")
	for _, want := range []string{"plugins that come with Harness: activity, ", ", worktree.", "ln -s ", "bin/harness-plugins activity --describe"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is not in\n%s", want, said.String())
		}
	}
}
