package depot_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// manifestOf is a plugin.json that is accepted.
func manifestOf(t *testing.T, name, version string) []byte {
	t.Helper()
	raw, err := json.Marshal(pluginsdk.Manifest{Name: name, Version: version, Hooks: []pluginsdk.Hook{pluginsdk.HookMessage}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// archive writes a gzipped tar with the entries. Those without a type are files,
// those without a mode may not be executed.
func archive(t *testing.T, dir string, entries ...tarEntry) string {
	t.Helper()
	path := filepath.Join(dir, "plugin.tar.gz")
	write(t, path, packed(t, entries...), 0o600)
	return path
}

type tarEntry struct {
	tar.Header
	content string
}

func packed(t *testing.T, entries ...tarEntry) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	writer := tar.NewWriter(zipped)
	for _, e := range entries {
		if e.Typeflag == 0 {
			e.Typeflag = tar.TypeReg
		}
		if e.Mode == 0 && e.Typeflag != tar.TypeXGlobalHeader {
			e.Mode = 0o644
		}
		if e.Typeflag == tar.TypeReg {
			e.Size = int64(len(e.content))
		}
		if err := writer.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func file(name, content string) tarEntry {
	return tarEntry{Header: tar.Header{Name: name}, content: content}
}

func program(name, content string) tarEntry {
	return tarEntry{Header: tar.Header{Name: name, Mode: 0o755}, content: content}
}

func link(name, target string) tarEntry {
	return tarEntry{Header: tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}}
}

// good is a package that is accepted.
func good(t *testing.T, version string, more ...tarEntry) []tarEntry {
	t.Helper()
	return append([]tarEntry{
		file("./plugin.json", string(manifestOf(t, "greeter", version))),
		program("./greeter", "#!/bin/sh\necho "+version+"\n"),
	}, more...)
}

func write(t *testing.T, path string, content []byte, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// newDepot is a depot in a directory of the test, which is removed although it
// is read-only.
func newDepot(t *testing.T, config depot.Config) (*depot.Depot, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plugins")
	config.Dir = dir
	d := depot.New(config)
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
			if entry != nil && entry.IsDir() {
				_ = os.Chmod(path, 0o700) //nolint:gosec // a directory of the test
			}
			return nil
		})
	})
	return d, dir
}

// keep installs a source and returns the row that a store would have of it.
func keep(t *testing.T, d *depot.Depot, source string) ledger.Plugin {
	t.Helper()
	p, err := d.Stage(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	row := ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{
		Name: p.Manifest.Name, Origin: pluginsdk.OriginStore, SHA256: p.SHA256, Manifest: p.Manifest,
	}}
	if err := p.Keep(t.Context(), func(path string) error { row.Path = path; return nil }); err != nil {
		t.Fatal(err)
	}
	return row
}

// left lists what is in the depot's directory, but for its lock.
func left(t *testing.T, dir string) []string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, one := range found {
		if one.Name() != ".lock" {
			names = append(names, one.Name())
		}
	}
	return names
}

func wantError(t *testing.T, err error, code pluginsdk.Code, words ...string) {
	t.Helper()
	if err == nil || pluginsdk.CodeOf(err) != code {
		t.Fatalf("got the error %v (%s), want %s", err, pluginsdk.CodeOf(err), code)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error %q does not say %q", err, word)
		}
	}
}

func sorted(names ...string) []string {
	slices.Sort(names)
	return names
}
