// Package scaffold writes the beginnings of a plugin: a module that builds,
// with a test, and everything to install it.
package scaffold

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/seed-706843ae/harness/pluginsdk"
)

//go:embed templates
var templates embed.FS

// files are what is written, by the template each is made from.
var files = []struct{ template, path string }{
	{"go.mod.tmpl", "go.mod"},
	{"main.go.tmpl", "main.go"},
	{"plugin.go.tmpl", "internal/plugin/plugin.go"},
	{"plugin_test.go.tmpl", "internal/plugin/plugin_test.go"},
	{"README.md.tmpl", "README.md"},
	{"Makefile.tmpl", "Makefile"},
	{"gitignore.tmpl", ".gitignore"},
}

// Plugin says which plugin to begin.
type Plugin struct {
	// Name of the plugin, as its manifest will have it.
	Name string
	// Dir is the directory to write; it must not exist, or be empty.
	Dir string
	// Module is the path of the Go module; empty means example.com/NAME.
	Module string
	// Harness is the checkout that has the SDK; see FindCheckout.
	Harness string
}

var modulePath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~/-]*$`)

func (p Plugin) check() error {
	manifest := pluginsdk.Manifest{Name: p.Name, Version: "0.1.0"}
	if err := manifest.Check(); err != nil {
		return err
	}
	if !modulePath.MatchString(p.Module) || strings.HasSuffix(p.Module, "/") {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "module %q: want the path of a Go module, such as example.com/%s", p.Module, p.Name)
	}
	entries, err := os.ReadDir(p.Dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s is not empty; name another directory with --dir", p.Dir)
	}
	return nil
}

// Write writes the plugin and returns the paths of its files. Nothing that is
// there already is changed.
func Write(ctx context.Context, p Plugin) ([]string, error) {
	if p.Module == "" {
		p.Module = "example.com/" + p.Name
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	needs, err := needsOf(ctx, p.Harness)
	if err != nil {
		return nil, err
	}
	contents, err := render(p, needs)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, file := range files {
		path := filepath.Join(p.Dir, filepath.FromSlash(file.path))
		if err := write(path, contents[file.path]); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	path := filepath.Join(p.Dir, "go.sum")
	return append(paths, path), write(path, needs.sums)
}

// render makes all files before the first is written.
func render(p Plugin, needs needs) (map[string][]byte, error) {
	parsed, err := template.ParseFS(templates, "templates/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("read the templates: %w", err)
	}
	values := map[string]any{
		"Name": p.Name, "Command": p.Name, "Module": p.Module,
		"Go": needs.goVersion, "Requirements": needs.requirements, "Harness": quoted(p.Harness),
	}
	contents := make(map[string][]byte)
	for _, file := range files {
		var content bytes.Buffer
		if err := parsed.ExecuteTemplate(&content, file.template, values); err != nil {
			return nil, fmt.Errorf("write %s: %w", file.path, err)
		}
		contents[file.path] = content.Bytes()
	}
	return contents, nil
}

// quoted is a path as go.mod wants it.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\"'`(),") {
		return fmt.Sprintf("%q", path)
	}
	return path
}

func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // sources, for everybody to read
		return err
	}
	return os.WriteFile(path, content, 0o644) //nolint:gosec // sources, for everybody to read
}
