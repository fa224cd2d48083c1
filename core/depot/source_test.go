package depot_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// beside writes an executable with its plugin.json and returns its path.
func beside(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plugin.json"), manifestOf(t, "greeter", version), 0o640)
	write(t, filepath.Join(dir, "greeter"), []byte("#!/bin/sh\necho "+version+"\n"), 0o750)
	return filepath.Join(dir, "greeter")
}

// However a plugin comes, it is the same plugin, with the same pin.
func TestAPathADirectoryAndAnArchiveAreTheSamePackage(t *testing.T) {
	d, dir := newDepot(t, depot.Config{})
	path := beside(t, "1.0.0")
	want := keep(t, d, path)
	for _, source := range []string{filepath.Dir(path), archive(t, t.TempDir(), good(t, "1.0.0")...)} {
		if got := keep(t, d, source); got.SHA256 != want.SHA256 || got.Path != want.Path {
			t.Errorf("%s: %s at %s, want %s at %s", source, got.SHA256, got.Path, want.SHA256, want.Path)
		}
	}
	if got := left(t, dir); !slices.Equal(got, sorted(want.SHA256, want.SHA256+".sum")) {
		t.Errorf("in the depot: %v", got)
	}
	if want.Manifest.Version != "1.0.0" || !strings.HasPrefix(want.Path, dir) {
		t.Errorf("row: %+v", want)
	}
}

// A plugin that could write to its own files would not be what was installed.
func TestPackagesAreReadOnly(t *testing.T) {
	d, dir := newDepot(t, depot.Config{})
	row := keep(t, d, archive(t, t.TempDir(), good(t, "1", file("lib/data", "x"))...))
	modes := map[string]fs.FileMode{}
	err := filepath.WalkDir(filepath.Join(dir, row.SHA256), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			modes[entry.Name()] = info.Mode().Perm()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]fs.FileMode{row.SHA256: 0o555, "lib": 0o555, "data": 0o444, "plugin.json": 0o444, "greeter": 0o555}
	for name, mode := range want {
		if modes[name] != mode {
			t.Errorf("%s has the mode %o, want %o", name, modes[name], mode)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	manifest := manifestOf(t, "greeter", "1")
	with := func(extra string) []byte {
		return []byte(strings.TrimSuffix(string(manifest), "}") + `,"executable":"` + extra + `"}`)
	}
	for name, test := range map[string]struct {
		files map[string][]byte // those with .x at the end may be executed
		want  string
	}{
		"no plugin.json":          {map[string][]byte{"greeter.x": nil}, "there is no plugin.json in it"},
		"plugin.json is deeper":   {map[string][]byte{"p/plugin.json": manifest, "p/greeter.x": nil}, `in the directory "p"`},
		"plugin.json is no JSON":  {map[string][]byte{"plugin.json": []byte("{"), "greeter.x": nil}, "is not the description of a plugin"},
		"plugin.json is too big":  {map[string][]byte{"plugin.json": []byte(strings.Repeat(" ", 1<<20+1)), "greeter.x": nil}, "larger than 1024 KiB"},
		"the name is wrong":       {map[string][]byte{"plugin.json": manifestOf(t, "../x", "1"), "greeter.x": nil}, `name "../x"`},
		"no executable":           {map[string][]byte{"plugin.json": manifest}, `the executable "greeter" is not in it`},
		"another executable":      {map[string][]byte{"plugin.json": with("run"), "greeter.x": nil}, `the executable "run" is not in it`},
		"an executable elsewhere": {map[string][]byte{"plugin.json": with("../../bin/sh")}, "leads out of the package"},
		"may not be executed":     {map[string][]byte{"plugin.json": manifest, "greeter": nil}, "chmod +x"},
		"it is a directory":       {map[string][]byte{"plugin.json": manifest, "greeter/x": nil}, "is not a file"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newDepot(t, depot.Config{})
			dir := t.TempDir()
			for file, content := range test.files {
				path, executable := strings.CutSuffix(file, ".x")
				mode := fs.FileMode(0o600)
				if executable {
					mode = 0o700
				}
				write(t, filepath.Join(dir, path), content, mode)
			}
			_, err := d.Stage(t.Context(), dir)
			wantError(t, err, pluginsdk.CodeInvalid, dir, test.want)
		})
	}
}

func TestAnExecutableWithoutADescriptionSaysHowToMakeOne(t *testing.T) {
	d, _ := newDepot(t, depot.Config{})
	path := beside(t, "1")
	if err := os.Remove(filepath.Join(filepath.Dir(path), "plugin.json")); err != nil {
		t.Fatal(err)
	}
	_, err := d.Stage(t.Context(), path)
	wantError(t, err, pluginsdk.CodeInvalid, path+": there is no plugin.json beside it", path+" --describe > ")
	_, err = d.Stage(t.Context(), path+"x")
	wantError(t, err, pluginsdk.CodeNotFound, "there is no file or directory")
}

// Reading a plugin's description must not run it: it is not trusted yet.
func TestReadingAPackageRunsNothingOfIt(t *testing.T) {
	d, _ := newDepot(t, depot.Config{})
	mark := filepath.Join(t.TempDir(), "ran")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plugin.json"), manifestOf(t, "greeter", "1"), 0o600)
	write(t, filepath.Join(dir, "greeter"), []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o700)
	row := keep(t, d, filepath.Join(dir, "greeter"))
	if err := d.Verify(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was run: %v", err)
	}
}

// A directory can be as hostile as an archive.
func TestHostileDirectoriesAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"a link out":   {func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "out")) }, `the link "out"`},
		"a link up":    {func(dir string) error { return os.Symlink("..", filepath.Join(dir, "up")) }, `the link "up"`},
		"a pipe":       {func(dir string) error { return unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600) }, `"pipe" is neither`},
		"a loose name": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "a\nb"), nil, 0o600) }, "characters that are not accepted"},
	} {
		t.Run(name, func(t *testing.T) {
			d, depotDir := newDepot(t, depot.Config{})
			dir := filepath.Dir(beside(t, "1"))
			if err := test.make(dir); err != nil {
				t.Fatal(err)
			}
			_, err := d.Stage(t.Context(), dir)
			wantError(t, err, pluginsdk.CodeInvalid, test.want)
			if names := left(t, depotDir); len(names) != 0 {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}

// What git keeps changes with every commit and is not the plugin's.
func TestADirectoryIsCopiedWithoutItsRepository(t *testing.T) {
	d, _ := newDepot(t, depot.Config{})
	path := beside(t, "1")
	before := keep(t, d, filepath.Dir(path))
	write(t, filepath.Join(filepath.Dir(path), ".git", "HEAD"), []byte("ref"), 0o600)
	if after := keep(t, d, filepath.Dir(path)); after.SHA256 != before.SHA256 {
		t.Error("the repository changed the package")
	}
}

func TestACopyEndsWithItsContext(t *testing.T) {
	d, dir := newDepot(t, depot.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Stage(ctx, archive(t, t.TempDir(), good(t, "1")...)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if names := left(t, dir); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}
