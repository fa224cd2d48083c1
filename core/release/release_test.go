package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

var today = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// Whoever checks a download builds the release themselves and compares the bytes: an
// archive must not have the day, the user or the directory in it.
func TestAnArchiveIsTheSameWhoeverMakesIt(t *testing.T) {
	pack := func(names []string, touched time.Time) []byte {
		t.Helper()
		dir := t.TempDir()
		a := archive{top: "harness-v1", time: today}
		for _, name := range names {
			source := filepath.Join(dir, name)
			if err := errors.Join(os.WriteFile(source, []byte("content of "+name), 0o600), os.Chtimes(source, touched, touched)); err != nil {
				t.Fatal(err)
			}
			a.add("plugins/"+name, source, 0o755)
		}
		a.link("plugins/link", "../a")
		target := filepath.Join(dir, "out.tar.gz")
		if err := a.write(target); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(target)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	one, two := pack([]string{"a", "b"}, today), pack([]string{"b", "a"}, today.Add(time.Hour))
	if !bytes.Equal(one, two) {
		t.Error("two archives of the same files differ")
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(one))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		mode := int64(0o755)
		if header.Typeflag == tar.TypeSymlink {
			mode, header.Name = 0o777, header.Name+" to "+header.Linkname
		}
		if header.Mode != mode || !header.ModTime.Equal(today) || header.Uid != 0 || header.Uname != "" {
			t.Errorf("%+v", header)
		}
		names = append(names, header.Name)
	}
	if got := strings.Join(names, " "); got != "harness-v1/plugins/a harness-v1/plugins/b harness-v1/plugins/link to ../a" {
		t.Errorf("it has %s", got)
	}
}

// Whoever hears of a fault in a library looks here for whether they have it.
func TestTheListNamesWhatIsLinked(t *testing.T) {
	harness := &buildinfo.BuildInfo{GoVersion: "go1.26.7", Main: debug.Module{Path: "example.org/harness"}, Deps: []*debug.Module{
		{Path: "example.org/b", Version: "v1.0.0+incompatible", Sum: "h1:b"},
		{Path: "example.org/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/new", Version: "v2.0.0"}},
	}}
	web := &buildinfo.BuildInfo{GoVersion: "go1.26.7", Main: harness.Main, Deps: []*debug.Module{
		{Path: "example.org/a", Version: "v0.1.0"}, {Path: "example.org/b", Version: "v1.0.0+incompatible", Sum: "h1:b"},
	}}
	encoded, err := release{version: "v7.8.9", commit: "c0ffee", date: today}.sbom([]*buildinfo.BuildInfo{harness, web})
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		BOMFormat, SpecVersion string
		Metadata               struct{ Component component }
		Components             []component
	}
	if err := json.Unmarshal(encoded, &list); err != nil {
		t.Fatal(err)
	}
	var purls []string
	for _, one := range list.Components {
		purls = append(purls, one.PURL)
	}
	want := "pkg:golang/example.org/a@v0.1.0 pkg:golang/example.org/b@v1.0.0%2Bincompatible pkg:golang/example.org/new@v2.0.0 pkg:golang/stdlib@1.26.7"
	if got := strings.Join(purls, " "); got != want {
		t.Errorf("it names %s", got)
	}
	if list.BOMFormat != "CycloneDX" || list.SpecVersion != "1.6" || list.Metadata.Component.Version != "v7.8.9" {
		t.Errorf("%s", encoded)
	}
}

// sha256sum -c and shasum -a 256 -c read it.
func TestSumsAreOfEveryFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "empty.tar.gz"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeSums(dir); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if want := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  empty.tar.gz\n"; err != nil || string(sums) != want {
		t.Errorf("%q, %v", sums, err)
	}
}
