package files_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/core/files"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var png = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89")

// Where a file may have any size, an announced one that no number can be added to must not
// make room for all that follow.
func TestNoSizeIsTooLargeToBeCounted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.config.MaxFile = 0
		w.open()
		w.must(w.put("kept", []byte("bytes")))
		_, err := w.room.Begin("web", pluginsdk.BeginFileRequest{Name: "all", Size: math.MaxInt64})
		wantCode(t, err, pluginsdk.CodeInvalid)
		_, err = w.room.Begin("web", pluginsdk.BeginFileRequest{Name: "too much", Size: 5 << 20})
		wantCode(t, err, pluginsdk.CodeExhausted)
	})
}

// What is taken in is kept as it is, under its hash, for its owner to read only.
func TestAFileIsKept(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		data := bytes.Repeat([]byte("0123456789"), 50_000)
		file := w.must(w.put("notes.txt", data))
		if file.Name != "notes.txt" || file.Type != "text/plain" || file.Size != 500_000 || file.ThreadID != w.thread || file.Plugin != "web" || file.Author != "ann" {
			t.Errorf("%+v", file)
		}
		w.reads(file, data)
		info, err := os.Stat(filepath.Join(w.config.Dir, file.SHA256[:2], file.SHA256))
		if err != nil || info.Mode().Perm() != 0o400 {
			t.Errorf("%v, %v", info, err)
		}
		w.sound()
	})
}

// A thousand names for the same bytes are one copy, and it goes with the last of them.
func TestTheSameFileAThousandTimes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		data := bytes.Repeat([]byte("x"), 10_000) // a thousand of them are more than the quota
		var workers sync.WaitGroup
		all := make([]pluginsdk.File, 1000)
		for n := range 3 {
			workers.Go(func() {
				for i := n; i < len(all); i += 3 {
					all[i] = w.must(w.put("x.bin", data))
				}
			})
		}
		workers.Wait()
		if on := w.onDisk(); len(on) != 1 {
			t.Fatalf("%d copies", len(on))
		}
		for _, file := range all[1:] {
			if _, _, err := w.room.Delete(t.Context(), file.ID); err != nil {
				t.Fatal(err)
			}
		}
		w.reads(all[0], data)
		if _, _, err := w.room.Delete(t.Context(), all[0].ID); err != nil {
			t.Fatal(err)
		}
		if on := w.onDisk(); len(on) != 0 {
			t.Errorf("left: %q", on)
		}
		for range 4 {
			w.begin("z", 1<<20) // all of the quota
		}
	})
}

// A bomb is bytes: nobody unpacks it, and it is as large as it is.
func TestAZipBombIsOnlyBytes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var bomb bytes.Buffer
		archive := zip.NewWriter(&bomb)
		inner, err := archive.Create("zeros")
		if err != nil {
			t.Fatal(err)
		}
		zeros := make([]byte, 1<<20)
		for range 16 {
			if _, err := inner.Write(zeros); err != nil {
				t.Fatal(err)
			}
		}
		if err := archive.Close(); err != nil {
			t.Fatal(err)
		}
		file := w.must(w.put("bomb.zip", bomb.Bytes()))
		if file.Type != "application/zip" || file.Size != int64(bomb.Len()) {
			t.Errorf("%+v", file)
		}
		desk, err := w.room.Lay(t.Context(), w.thread, []pluginsdk.Attachment{file.Attachment()})
		if err != nil || desk.Files[file.ID].Size != int64(bomb.Len()) {
			t.Errorf("%+v, %v", desk, err)
		}
		w.sound()
	})
}

// A type is what the bytes are, whatever the name says.
func TestTypesAreSniffed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct{ data, want string }{
			"page.png":  {"<!DOCTYPE html><html><script>alert(1)</script></html>", "text/html"},
			"draw.png":  {`<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>`, "image/svg+xml"},
			"image.txt": {string(png), "image/png"},
			"x.pdf":     {"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "application/pdf"},
			"y.jpg":     {"\x00\x01\x02\x03\xff\xfe\x80 nothing", "application/octet-stream"},
			"empty":     {"", "text/plain"},
		} {
			file, err := w.put(name, []byte(c.data))
			if err != nil || file.Type != c.want {
				t.Errorf("%s: %q (%v), want %q", name, file.Type, err, c.want)
			}
		}
	})
}

// A name is a name wherever it is shown or stored, never a way to somewhere.
func TestAPathAsAName(t *testing.T) {
	long := strings.Repeat("ü", 400) + ".tar.gz"
	for given, want := range map[string]string{
		"../../etc/passwd": "passwd", "/etc/passwd": "passwd", `C:\Users\ann\plan.docx`: "plan.docx", "dir/": "dir",
		"..": "file", ".": "file", "": "file", "/": "file", "a/..": "file", " \t": "file", "...": "file",
		"a\x00b\nc\x1b[31m.txt": "abc[31m.txt", "gpj\u202eexe.txt": "gpjexe.txt", "ok\xff.txt": "ok\uFFFD.txt",
		".bashrc": ".bashrc", "naïve 試.txt": "naïve 試.txt", "  spaced.txt ": "spaced.txt",
	} {
		if got := files.CleanName(given); got != want {
			t.Errorf("%q became %q, want %q", given, got, want)
		}
	}
	if got := files.CleanName(long); len(got) > 240 || !utf8.ValidString(got) || !strings.HasSuffix(got, "ü.gz") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	each(t, func(t *testing.T, w *world) {
		if file := w.must(w.put("../../../tmp/evil", []byte("x"))); file.Name != "evil" {
			t.Errorf("%+v", file)
		}
		for path := range map[string]bool{filepath.Join(w.dir, "..", "evil"): true, "/tmp/evil": true} {
			if _, err := os.Lstat(path); err == nil {
				t.Errorf("%s was made", path)
			}
		}
	})
}

// A disk that is full says so, and nothing of the file stays, whichever step notices.
func TestAFullDisk(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		before := w.must(w.put("before", []byte("before")))
		for _, step := range []string{"create", "write", "sync", "place"} {
			w.failing(step, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
			_, err := w.put("big.bin", bytes.Repeat([]byte(step), 100_000))
			wantCode(t, err, pluginsdk.CodeExhausted)
			if err == nil || !strings.Contains(err.Error(), "is full; free some space") {
				t.Errorf("%s: %v", step, err)
			}
			if on := w.onDisk(); len(on) != 1 {
				t.Errorf("%s: left %q", step, on)
			}
			w.failing(step, nil)
		}
		w.reads(before, []byte("before"))
		w.sound()
		// Nothing is set aside for what failed: all of the quota is there.
		for n := range 4 {
			w.must(w.put("fits", bytes.Repeat([]byte{byte(n)}, 1<<20-10)))
		}
	})
}

// The same on a disk that really is full.
func TestAFullDiskOfItsOwn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		small := filepath.Join(w.dir, "small")
		if err := os.Mkdir(small, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=512k"); err != nil {
			t.Skipf("left out: a file system of its own cannot be mounted here (%s)", err)
		}
		t.Cleanup(func() { _ = unix.Unmount(small, unix.MNT_DETACH) })
		w.config.Dir = filepath.Join(small, "files")
		w.open()
		w.must(w.put("fits", bytes.Repeat([]byte("a"), 200_000)))
		_, err := w.put("does not", bytes.Repeat([]byte("b"), 600_000))
		wantCode(t, err, pluginsdk.CodeExhausted)
		if on := w.onDisk(); len(on) != 1 {
			t.Errorf("left %q", on)
		}
		w.must(w.put("fits too", bytes.Repeat([]byte("c"), 200_000)))
		w.sound()
	})
}

// Each limit is named by who meets it.
func TestLimitsAreNamed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.room.Begin("web", pluginsdk.BeginFileRequest{Name: "huge.iso", Size: 1<<20 + 1})
		wantCode(t, err, pluginsdk.CodeExhausted)
		if err == nil || !strings.Contains(err.Error(), "HARNESS_MAX_FILE") {
			t.Errorf("%v", err)
		}
		for n := range 4 {
			w.begin(string(rune('a'+n)), 1<<20)
		}
		_, err = w.room.Begin("web", pluginsdk.BeginFileRequest{Name: "one more", Size: 1})
		wantCode(t, err, pluginsdk.CodeExhausted)
		if err == nil || !strings.Contains(err.Error(), "HARNESS_FILES_QUOTA") {
			t.Errorf("%v", err)
		}
		w.later(time.Hour)
		for range 64 {
			w.begin("empty", 0)
		}
		_, err = w.room.Begin("web", pluginsdk.BeginFileRequest{Name: "one more"})
		wantCode(t, err, pluginsdk.CodeExhausted)
		if _, err := w.room.Begin("discord", pluginsdk.BeginFileRequest{Name: "of another plugin"}); err != nil {
			t.Error(err)
		}
		w.config.MaxFile, w.config.Quota = 0, 0 // any size
		w.open()
		id, data := w.begin("large", 5<<20), make([]byte, 4<<20+1)
		_, err = w.room.Write("web", pluginsdk.WriteFileRequest{UploadID: id, Data: data})
		wantCode(t, err, pluginsdk.CodeInvalid)
		if n, err := w.room.Write("web", pluginsdk.WriteFileRequest{UploadID: id, Data: data[1:]}); err != nil || n != 4<<20 {
			t.Errorf("%d, %v", n, err)
		}
	})
}

// What is on disk counts from the start on, also when another daemon has put it there.
func TestTheQuotaCountsWhatIsThere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, content := range []string{"a", "b", "c"} {
			w.must(w.put(content, bytes.Repeat([]byte(content), 1<<20)))
		}
		w.open()
		w.begin("the last", 1<<20)
		_, err := w.room.Begin("web", pluginsdk.BeginFileRequest{Name: "one more", Size: 1})
		wantCode(t, err, pluginsdk.CodeExhausted)
	})
}

// A part that is read has 4 MiB at most, whatever is asked for, and none at the end.
func TestFilesAreReadInParts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.config.MaxFile, w.config.Quota = 0, 0
		w.open()
		file := w.must(w.put("large", make([]byte, 5<<20)))
		for _, c := range []struct {
			offset int64
			limit  int
			want   int
			code   pluginsdk.Code
		}{
			{0, 0, 4 << 20, ""},
			{0, 5 << 20, 4 << 20, ""},
			{4 << 20, 0, 1 << 20, ""},
			{5<<20 - 1, 9, 1, ""},
			{5 << 20, 0, 0, ""},
			{1 << 62, 0, 0, ""},
			{-1, 0, 0, pluginsdk.CodeInvalid},
			{0, -1, 0, pluginsdk.CodeInvalid},
		} {
			data, err := w.room.Read(t.Context(), pluginsdk.ReadFileRequest{ID: file.ID, Offset: c.offset, Limit: c.limit})
			if len(data) != c.want || pluginsdk.CodeOf(err) != c.code {
				t.Errorf("%d from %d: %d bytes, %v", c.limit, c.offset, len(data), err)
			}
		}
	})
}

// What is sent twice is there once, and what is sent wrongly is refused.
func TestUploadsMayBeRepeated(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.begin("x", 6)
		write := func(offset int64, data string, want int64, code pluginsdk.Code) {
			t.Helper()
			n, err := w.room.Write("web", pluginsdk.WriteFileRequest{UploadID: id, Offset: offset, Data: []byte(data)})
			if pluginsdk.CodeOf(err) != code || err == nil && n != want {
				t.Errorf("%q at %d: %d, %v", data, offset, n, err)
			}
		}
		write(0, "abc", 3, "")
		write(0, "abc", 3, "")
		write(1, "bcd", 4, "")
		write(0, "xbc", 0, pluginsdk.CodeConflict)
		write(5, "f", 0, pluginsdk.CodeInvalid)
		write(4, "efg", 0, pluginsdk.CodeInvalid)
		write(4, "ef", 6, "")
		_, err := w.room.Commit(t.Context(), "other", pluginsdk.CommitFileRequest{UploadID: id})
		wantCode(t, err, pluginsdk.CodeNotFound)
		first := w.must(w.room.Commit(t.Context(), "web", pluginsdk.CommitFileRequest{UploadID: id}))
		again := w.must(w.room.Commit(t.Context(), "web", pluginsdk.CommitFileRequest{UploadID: id, SHA256: strings.ToUpper(first.SHA256)}))
		w.open() // and after a restart
		third := w.must(w.room.Commit(t.Context(), "web", pluginsdk.CommitFileRequest{UploadID: id}))
		if again.ID != first.ID || third.ID != first.ID {
			t.Errorf("%s, %s, %s", first.ID, again.ID, third.ID)
		}
		_, err = w.room.Commit(t.Context(), "other", pluginsdk.CommitFileRequest{UploadID: id})
		wantCode(t, err, pluginsdk.CodeNotFound)
	})
}

// A disk that fails after the bytes have their name takes nothing from the files that have
// the same bytes, and nothing is set aside for what failed.
func TestADiskThatFailsAtTheEndLosesNoOthersBytes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		data := bytes.Repeat([]byte("x"), 1<<20)
		before := w.must(w.put("before", data))
		w.failing("placed", &os.PathError{Op: "sync", Path: "x", Err: syscall.EIO})
		for _, content := range [][]byte{data, []byte("others")} {
			_, err := w.put("again", content)
			wantCode(t, err, pluginsdk.CodeInternal)
		}
		w.failing("placed", nil)
		w.reads(before, data)
		w.sound()
		if on := w.onDisk(); len(on) != 1 {
			t.Errorf("left %q", on)
		}
		for range 3 {
			w.begin("z", 1<<20) // all that is left of the quota
		}
		if _, err := w.room.Begin("web", pluginsdk.BeginFileRequest{Name: "z", Size: 1}); pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted {
			t.Errorf("more than the quota: %v", err)
		}
	})
}

// What was begun and not committed is forgotten: after an hour, and at the next start.
func TestUploadsAreForgotten(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.begin("x", 1<<20)
		w.later(59 * time.Minute)
		if _, err := w.room.Write("web", pluginsdk.WriteFileRequest{UploadID: id, Data: []byte("abc")}); err != nil {
			t.Fatal(err)
		}
		w.later(time.Hour)
		w.sweep()
		_, err := w.room.Write("web", pluginsdk.WriteFileRequest{UploadID: id, Offset: 3, Data: []byte("d")})
		wantCode(t, err, pluginsdk.CodeNotFound)
		w.begin("y", 1<<20)
		w.open()
		if on := w.onDisk(); len(on) != 0 {
			t.Errorf("left %q", on)
		}
		for range 4 {
			w.begin("z", 1<<20) // all of the quota
		}
	})
}

// What is committed and is not what was announced or meant is forgotten at once.
func TestWrongUploadsAreForgotten(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, commit := range []pluginsdk.CommitFileRequest{{}, {SHA256: strings.Repeat("0", 64)}} {
			commit.UploadID = w.begin("x", 3)
			data := "abc"
			if commit.SHA256 == "" {
				data = "ab"
			}
			if _, err := w.room.Write("web", pluginsdk.WriteFileRequest{UploadID: commit.UploadID, Data: []byte(data)}); err != nil {
				t.Fatal(err)
			}
			for _, want := range []pluginsdk.Code{pluginsdk.CodeInvalid, pluginsdk.CodeNotFound} {
				_, err := w.room.Commit(t.Context(), "web", commit)
				wantCode(t, err, want)
			}
			if on := w.onDisk(); len(on) != 0 {
				t.Errorf("left %q", on)
			}
		}
	})
}

// A commit whose row could not be stored is repeated, and its bytes are there.
func TestACommitThatFailedIsRepeated(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.begin("x", 3)
		if _, err := w.room.Write("web", pluginsdk.WriteFileRequest{UploadID: id, Data: []byte("abc")}); err != nil {
			t.Fatal(err)
		}
		w.failing("row", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "away"))
		_, err := w.room.Commit(t.Context(), "web", pluginsdk.CommitFileRequest{UploadID: id})
		wantCode(t, err, pluginsdk.CodeUnavailable)
		w.sweep() // does not take what is on its way
		w.failing("row", nil)
		w.reads(w.must(w.room.Commit(t.Context(), "web", pluginsdk.CommitFileRequest{UploadID: id})), []byte("abc"))
		w.sound()
	})
}

// Whoever dies between the bytes and their row, or between the row and its bytes, loses
// nothing that a row refers to, and what none refers to is swept.
func TestNoDeathLosesReferredBytes(t *testing.T) {
	died := errors.New("died here")
	each(t, func(t *testing.T, w *world) {
		kept := w.must(w.put("kept", []byte("kept")))
		for _, step := range []string{"write", "sync", "place", "row"} { // on the way in
			w.failing(step, died)
			for _, content := range []string{"kept", "new " + step} {
				if _, err := w.put("x", []byte(content)); err == nil {
					t.Errorf("%s: no error", step)
				}
			}
			w.failing(step, nil)
			w.open()
			w.sweep()
			w.sound()
			w.reads(kept, []byte("kept"))
		}
		gone := w.must(w.put("gone", []byte("gone")))
		w.failing("sweep", died) // on the way out
		if _, _, err := w.room.Delete(t.Context(), gone.ID); err != nil {
			t.Fatal(err)
		}
		w.failing("sweep", nil)
		w.open()
		w.sweep()
		w.sound()
		w.reads(kept, []byte("kept"))
		if on := w.onDisk(); len(on) != 1 || on[0] != kept.SHA256 {
			t.Errorf("on disk: %q", on)
		}
	})
}

// Missing and changed bytes are found, and the same file sent again takes their place.
func TestMissingAndChangedBytesAreFound(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b, c := w.must(w.put("a", []byte("aaa"))), w.must(w.put("b", []byte("bbb"))), w.must(w.put("c", []byte("ccc")))
		path := func(f pluginsdk.File) string { return filepath.Join(w.config.Dir, f.SHA256[:2], f.SHA256) }
		err := errors.Join(os.Remove(path(a)), os.Chmod(path(b), 0o600), os.WriteFile(path(b), []byte("bxb"), 0o600), os.Chmod(path(c), 0o600), os.WriteFile(path(c), []byte("c"), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		found, err := files.Inspect(t.Context(), w.config.Dir, w.store)
		all := strings.Join(found.Problems, "\n")
		if err != nil || len(found.Problems) != 3 || !strings.Contains(all, "is missing") || !strings.Contains(all, "other bytes") || !strings.Contains(all, "has 1 bytes instead of 3") {
			t.Errorf("%v\n%s", err, all)
		}
		_, err = w.room.Read(t.Context(), pluginsdk.ReadFileRequest{ID: a.ID})
		wantCode(t, err, pluginsdk.CodeNotFound)
		w.must(w.put("a again", []byte("aaa")))
		w.must(w.put("b again", []byte("bbb")))
		w.must(w.put("c again", []byte("ccc")))
		w.reads(a, []byte("aaa"))
		w.reads(b, []byte("bbb"))
		w.reads(c, []byte("ccc"))
	})
}
