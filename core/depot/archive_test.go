package depot_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// An archive comes from a stranger. Whatever is in it, nothing may be written
// outside of the depot, the disk may not be filled, and nothing stays behind.
func TestHostileArchivesAreRefused(t *testing.T) {
	deep := strings.Repeat("d/", 120) + "file"
	for name, test := range map[string]struct {
		entries []tarEntry
		want    string
	}{
		"a path that goes up":              {good(t, "1", file("../escaped", "x")), "leads out of the package"},
		"a path that goes up on the way":   {good(t, "1", file("a/../../escaped", "x")), "leads out of the package"},
		"a path that comes back":           {good(t, "1", file("a/../b", "x")), "leads out of the package"},
		"an absolute path":                 {good(t, "1", file("/tmp/escaped", "x")), "leads out of the package"},
		"a directory that goes up":         {good(t, "1", tarEntry{Header: tar.Header{Name: "../up/", Typeflag: tar.TypeDir}}), "leads out of the package"},
		"a link that goes up":              {good(t, "1", link("out", "../../escaped")), `the link "out"`},
		"a link to an absolute path":       {good(t, "1", link("out", "/etc/passwd")), `the link "out"`},
		"links that go up together":        {good(t, "1", file("d/f", ""), link("d/up", ".."), link("out", "d/up/../escaped")), `the link "out"`},
		"a link to nothing":                {good(t, "1", link("out", "nowhere")), `the link "out"`},
		"a link to itself":                 {good(t, "1", link("out", "out")), `the link "out"`},
		"a file through a link":            {good(t, "1", link("dir", "/tmp"), file("dir/escaped", "x")), `"dir" is in it twice`},
		"a link in the place of a file":    {good(t, "1", link("greeter", "/bin/sh")), `"greeter" is in it twice`},
		"the same file twice":              {good(t, "1", file("greeter", "other")), `"greeter" is in it twice`},
		"the same file, written otherwise": {good(t, "1", file("a//b", "x"), file("./a/b", "y")), `"./a/b" is in it twice`},
		"a file in a file":                 {good(t, "1", file("greeter/x", "y")), `"greeter" is in it twice`},
		"a device":                         {good(t, "1", tarEntry{Header: tar.Header{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}}), `"null" is neither`},
		"a pipe":                           {good(t, "1", tarEntry{Header: tar.Header{Name: "pipe", Typeflag: tar.TypeFifo}}), `"pipe" is neither`},
		"a hard link":                      {good(t, "1", tarEntry{Header: tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "greeter"}}), "--hard-dereference"},
		"too much in one file":             {good(t, "1", file("big", strings.Repeat("0", 300<<10))), "larger than"},
		"too much in many files":           {good(t, "1", file("a", strings.Repeat("0", 100<<10)), file("b", strings.Repeat("0", 100<<10)), file("c", strings.Repeat("0", 100<<10))), "larger than"},
		"too many files":                   {good(t, "1", many(101)...), "more than 100 files"},
		"too many directories":             {good(t, "1", file(deep, "x")), "more than 100 files"},
		"a name that moves the cursor":     {good(t, "1", file("a\x1b[2Jb", "x")), "characters that are not accepted"},
		"a name of two lines":              {good(t, "1", file("a\nf 0 b", "x")), "characters that are not accepted"},
		"a name without end":               {good(t, "1", file(strings.Repeat("n", 600), "x")), "longer than 512 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			d, dir := newDepot(t, depot.Config{MaxBytes: 256 << 10, MaxFiles: 100})
			source := archive(t, t.TempDir(), test.entries...)
			p, err := d.Stage(t.Context(), source)
			if p != nil {
				t.Error("it was accepted")
			}
			wantError(t, err, pluginsdk.CodeInvalid, source, test.want)
			if names := left(t, dir); len(names) != 0 {
				t.Errorf("left behind: %v", names)
			}
			for _, escaped := range []string{filepath.Join(dir, "escaped"), filepath.Join(filepath.Dir(dir), "escaped"), "/tmp/escaped"} {
				if _, err := os.Lstat(escaped); err == nil {
					t.Errorf("%s was written", escaped)
				}
			}
		})
	}
}

func many(n int) []tarEntry {
	entries := make([]tarEntry, n)
	for i := range entries {
		entries[i] = tarEntry{Header: tar.Header{Name: fmt.Sprintf("d%d/", i), Typeflag: tar.TypeDir}}
	}
	return entries
}

// What is behind the last file of an archive is unpacked too, to see its
// checksum: it may not go on for ever.
func TestABombBehindTheEndIsRefused(t *testing.T) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	inner, err := gzip.NewReader(bytes.NewReader(packed(t, good(t, "1")...)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(zipped, inner); err != nil { //nolint:gosec // made by this test
		t.Fatal(err)
	}
	if _, err := zipped.Write(make([]byte, 8<<20)); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "bomb.tgz")
	write(t, source, out.Bytes(), 0o600)
	d, dir := newDepot(t, depot.Config{MaxBytes: 256 << 10, MaxFiles: 100})
	_, err = d.Stage(t.Context(), source)
	wantError(t, err, pluginsdk.CodeInvalid, "larger than a package may be")
	if names := left(t, dir); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

// A download that broke off must not be half installed.
func TestDamagedArchivesAreRefused(t *testing.T) {
	whole := packed(t, good(t, "1", file("data", strings.Repeat("abc", 5000)))...)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	for name, content := range map[string][]byte{
		"cut":        whole[:len(whole)/2],
		"cut late":   whole[:len(whole)-3],
		"flipped":    flipped,
		"empty":      nil,
		"no archive": []byte("hello"),
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newDepot(t, depot.Config{})
			source := filepath.Join(t.TempDir(), "plugin.tgz")
			write(t, source, content, 0o600)
			_, err := d.Stage(t.Context(), source)
			wantError(t, err, pluginsdk.CodeInvalid, source)
		})
	}
}

// Packages with links inside, as those of Node.js have, and the header that `git
// archive` writes, are in order.
func TestLinksThatStayInsideAreKept(t *testing.T) {
	d, _ := newDepot(t, depot.Config{})
	source := archive(t, t.TempDir(), append([]tarEntry{
		{Header: tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "abc"}}},
		{Header: tar.Header{Typeflag: tar.TypeDir, Name: "./"}},
	}, good(t, "1", file("lib/deep/tool.js", "x"), link("bin/tool", "../lib/deep/tool.js"), link("current", "lib/deep"))...)...)
	row := keep(t, d, source)
	content, err := os.ReadFile(filepath.Join(filepath.Dir(row.Path), "bin", "tool"))
	if err != nil || string(content) != "x" {
		t.Errorf("the link leads to %q, %v", content, err)
	}
	if err := d.Verify(t.Context(), row); err != nil {
		t.Error(err)
	}
}
