package depot_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who may put files into the uploads, and name one, must not have the daemon read what
// lies elsewhere, nor wait for ever.
func TestUploadsAreFilesOfTheirDirectoryOnly(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "uploads")
	elsewhere := filepath.Join(base, "elsewhere.tar.gz")
	write(t, elsewhere, packed(t, good(t, "1")...), 0o600)
	write(t, filepath.Join(dir, "linked.tar.gz"), packed(t, good(t, "1")...), 0o600)
	for link, target := range map[string]string{"out.tar.gz": elsewhere, "up.tar.gz": "../elsewhere.tar.gz", "in.tar.gz": "linked.tar.gz", "linked.tar.gz.minisig": elsewhere} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]pluginsdk.Code{
		"": pluginsdk.CodeInvalid, ".": pluginsdk.CodeInvalid, "..": pluginsdk.CodeInvalid, elsewhere: pluginsdk.CodeInvalid,
		"../elsewhere.tar.gz": pluginsdk.CodeInvalid, "directory/../linked.tar.gz": pluginsdk.CodeInvalid, `..\elsewhere.tar.gz`: pluginsdk.CodeInvalid,
		"out.tar.gz": pluginsdk.CodeInvalid, "up.tar.gz": pluginsdk.CodeInvalid, "in.tar.gz": pluginsdk.CodeInvalid,
		"pipe": pluginsdk.CodeInvalid, "directory": pluginsdk.CodeInvalid, "absent.tar.gz": pluginsdk.CodeNotFound,
		"linked.tar.gz": pluginsdk.CodeInvalid, // its signature is elsewhere
	} {
		if _, _, err := depot.OpenUpload(dir, name); pluginsdk.CodeOf(err) != code {
			t.Errorf("%q: %v, want %s", name, err, code)
		}
	}
	if _, _, err := depot.OpenUpload(filepath.Join(base, "none"), "a.tar.gz"); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("without the directory: %v", err)
	}
}

// What is installed from an upload is what an operator would have installed from the same
// files: its signature counts, and where signatures are required, one is needed.
func TestAnUploadIsReadWithItsSignature(t *testing.T) {
	dir := t.TempDir()
	publisher, private := newKey(t)
	d, _ := newDepot(t, depot.Config{Publishers: depot.Publishers{publisher}, RequireSignature: true})
	stage := func() (*depot.Package, error) {
		t.Helper()
		upload, closing, err := depot.OpenUpload(dir, "plugin.tar.gz")
		if err != nil {
			t.Fatal(err)
		}
		defer closing()
		return d.StageArchive(t.Context(), upload)
	}
	content := packed(t, good(t, "1")...)
	path := archive(t, dir, good(t, "1")...)
	if _, err := stage(); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
		t.Errorf("without a signature: %v", err)
	}
	sign(t, path, content, private)
	p, err := stage()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Discard() })
	beside, err := d.Stage(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = beside.Discard() })
	if !p.Signature.Trusted || p.SHA256 != beside.SHA256 || p.Manifest.Name != "greeter" {
		t.Errorf("staged %+v", p)
	}
}
