package files_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func (w *world) collect() ledger.Outbox {
	w.t.Helper()
	outbox, err := w.room.Collect(w.t.Context(), w.thread)
	if err != nil {
		w.t.Fatal(err)
	}
	return outbox
}

// reply stores a reply with these attachments, as the pipeline does.
func (w *world) reply(attachments []pluginsdk.Attachment) {
	w.t.Helper()
	_, err := w.store.Append(w.t.Context(), ledger.Append{ThreadID: w.thread, Rows: []pluginsdk.NewMessage{
		{Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Content: "here", Attachments: attachments},
	}})
	if err != nil {
		w.t.Fatal(err)
	}
}

func names(attachments []pluginsdk.Attachment) (names []string) {
	for _, one := range attachments {
		names = append(names, one.Name)
	}
	return names
}

// What people send lies ready for the agent as a copy, with its name, and what the agent
// does to that is not done to what is kept.
func TestFilesLieReadyForTheAgent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.must(w.put("data.csv", []byte("a,b"))), w.must(w.put("data.csv", []byte("c,d")))
		gone := pluginsdk.File{ID: uuid.NewString(), Name: "gone"}
		attached := []pluginsdk.Attachment{a.Attachment(), b.Attachment(), gone.Attachment(), {Name: "elsewhere", Where: "/etc/passwd"}}
		for range 2 { // an attempt is repeated
			desk, err := w.room.Lay(t.Context(), w.thread, attached)
			if err != nil || len(desk.Files) != 2 || desk.Missing[gone.ID] != "it was deleted" {
				t.Fatalf("%+v, %v", desk, err)
			}
			content, err := os.ReadFile(desk.Files[b.ID].Path)
			if err != nil || string(content) != "c,d" || filepath.Base(desk.Files[b.ID].Path) != "data.csv" || desk.Files[a.ID].Path == desk.Files[b.ID].Path {
				t.Errorf("%q, %v", content, err)
			}
		}
		laid := filepath.Join(w.config.Threads, w.thread, "in", a.ID, "data.csv")
		if err := errors.Join(os.Chmod(laid, 0o600), os.WriteFile(laid, []byte("x,y"), 0o600)); err != nil {
			t.Fatal(err)
		}
		w.reads(a, []byte("a,b"))
		w.sound()
		if _, _, err := w.room.Delete(t.Context(), a.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(laid); err == nil {
			t.Error("a copy of a file that was deleted is still there")
		}
	})
}

// What the agent leaves is taken in with its directories as names, sent once, and cleared
// away.
func TestTheOutboxIsTakenIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if outbox := w.collect(); len(outbox.Taken) != 0 {
			t.Errorf("of nothing: %+v", outbox)
		}
		w.outbox("plot.png", string(png))
		w.outbox("charts/2026/q1.csv", "a,b")
		w.outbox(".DS_Store", "x")
		outbox := w.collect()
		if got := names(outbox.Attachments); !slices.Equal(got, []string{"charts_2026_q1.csv", "plot.png"}) || len(outbox.Refused) > 0 {
			t.Fatalf("%q, %+v", got, outbox)
		}
		id, _ := outbox.Attachments[1].FileID()
		if file, err := w.room.Get(t.Context(), id); err != nil || file.Type != "image/png" || file.Plugin != "" || file.ThreadID != w.thread {
			t.Errorf("%+v, %v", file, err)
		}
		w.reply(outbox.Attachments)
		w.room.Clear(w.thread, outbox.Taken)
		if again := w.collect(); len(again.Attachments)+len(again.Taken) > 0 {
			t.Errorf("again: %+v", again)
		}
		w.sound()
	})
}

// Whoever dies before the reply is stored takes the same files in again; whoever dies
// after it, and before they are cleared away, sends nothing twice. What is written anew is
// another file.
func TestNoDeathLosesOrDoublesWhatTheAgentLeft(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		path := w.outbox("plot.png", string(png))
		first := w.collect()
		w.open() // died before the reply
		second := w.collect()
		if !slices.Equal(first.Attachments, second.Attachments) {
			t.Fatalf("%+v, then %+v", first, second)
		}
		w.reply(second.Attachments)
		w.open() // died before clearing away
		third := w.collect()
		if len(third.Attachments) != 0 || len(third.Taken) != 1 {
			t.Fatalf("sent twice: %+v", third)
		}
		w.room.Clear(w.thread, third.Taken)
		if _, err := os.Lstat(path); err == nil {
			t.Error("it was not cleared away")
		}
		w.outbox("plot.png", string(png)) // the agent makes it again
		fourth := w.collect()
		if len(fourth.Attachments) != 1 || fourth.Attachments[0] == first.Attachments[0] {
			t.Errorf("made again: %+v", fourth)
		}
		w.outbox("plot.png", "changed since") // while the reply is stored
		w.reply(fourth.Attachments)
		w.room.Clear(w.thread, fourth.Taken)
		if fifth := w.collect(); len(fifth.Attachments) != 1 {
			t.Errorf("what came meanwhile was lost: %+v", fifth)
		}
	})
}

// A link in the outbox must not send what lies elsewhere, and a pipe must not be waited
// for. What is refused is said once.
func TestLinksAndSpecialFilesAreRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		secret := filepath.Join(t.TempDir(), "secret")
		out := filepath.Dir(w.outbox("fine.txt", "fine"))
		err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.Symlink(secret, filepath.Join(out, "link.txt")),
			os.Symlink(filepath.Dir(secret), filepath.Join(out, "dir")), syscall.Mkfifo(filepath.Join(out, "pipe"), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		w.outbox("huge.bin", strings.Repeat("x", 1<<20+1))
		outbox := w.collect()
		if got := names(outbox.Attachments); !slices.Equal(got, []string{"fine.txt"}) || len(outbox.Refused) != 4 {
			t.Fatalf("%q, %q", got, outbox.Refused)
		}
		if all := strings.Join(outbox.Refused, "\n"); !strings.Contains(all, "link.txt: it is a link") || !strings.Contains(all, "HARNESS_MAX_FILE") {
			t.Errorf("%s", all)
		}
		w.reply(outbox.Attachments)
		w.room.Clear(w.thread, outbox.Taken)
		if again := w.collect(); len(again.Refused)+len(again.Attachments) > 0 {
			t.Errorf("said again: %+v", again)
		}
		if _, err := os.Lstat(filepath.Join(w.config.Threads, w.thread, "unsent", "huge.bin")); err != nil {
			t.Error(err)
		}
		// The agent puts a link in the place of its outbox, and of the whole directory.
		if err := errors.Join(os.RemoveAll(out), os.Symlink(filepath.Dir(secret), out)); err != nil {
			t.Fatal(err)
		}
		if outbox := w.collect(); len(outbox.Attachments) > 0 || len(outbox.Refused) != 1 {
			t.Errorf("through a link: %+v", outbox)
		}
		if desk, err := w.room.Lay(t.Context(), w.thread, nil); err != nil || desk.Out != "" || desk.In == "" {
			t.Errorf("%+v, %v", desk, err)
		}
	})
}

// Directories that what was sent has left empty go with it: however many there have been,
// what lies beside them is seen. Those with something in them stay.
func TestEmptyDirectoriesOfTheOutboxGo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.outbox("kept/.hidden", "x")
		for n := range 3 {
			w.outbox(fmt.Sprintf("2026/%02d/report.pdf", n), "%PDF-")
		}
		w.outbox("kept/plot.png", string(png))
		outbox := w.collect()
		w.reply(outbox.Attachments)
		w.room.Clear(w.thread, outbox.Taken)
		out := filepath.Join(w.config.Threads, w.thread, "out")
		left, err := os.ReadDir(out)
		if err != nil || len(left) != 1 || left[0].Name() != "kept" || len(outbox.Attachments) != 4 {
			t.Errorf("left: %v, %v; sent %d", left, err, len(outbox.Attachments))
		}
	})
}

// What lies too deep, or is too much to look at, is said, and keeps no turn waiting. What
// is said of it has an end.
func TestALargeOutboxIsBounded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		out := filepath.Dir(w.outbox("fine.txt", "fine"))
		w.outbox(strings.Repeat("d/", 9)+"deep.txt", "deep")
		for n := range 60 {
			if err := os.Symlink("/nowhere", filepath.Join(out, fmt.Sprintf("link%02d-%s", n, strings.Repeat("x", 150)))); err != nil {
				t.Fatal(err)
			}
		}
		outbox := w.collect()
		said := strings.Join(outbox.Refused, "\n")
		if got := names(outbox.Attachments); !slices.Equal(got, []string{"fine.txt"}) || !strings.Contains(said, "8 directories deep") {
			t.Errorf("%q\n%.1000s", got, said)
		}
		if len(outbox.Refused) > 25 || !strings.Contains(said, "more") {
			t.Errorf("%d lines, %d bytes", len(outbox.Refused), len(said))
		}
		w.room.Clear(w.thread, outbox.Taken)
		if again := w.collect(); len(again.Taken)+len(again.Refused) > 0 {
			t.Errorf("not cleared away: %d, %d", len(again.Taken), len(again.Refused))
		}
		aside := filepath.Join(w.config.Threads, w.thread, "unsent", strings.Repeat("d_", 8)+"d", "deep.txt")
		if _, err := os.Lstat(aside); err != nil {
			t.Error(err)
		}
	})
}

// A tree of nothing but directories, or of hidden files, is not gone through to its end.
func TestATreeOfDirectoriesIsBounded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		out := filepath.Dir(w.outbox("fine.txt", "fine"))
		for n := range 40 {
			for k := range 40 {
				if err := os.MkdirAll(filepath.Join(out, fmt.Sprint(n), fmt.Sprint(k), "deeper"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
		}
		outbox := w.collect()
		if got := names(outbox.Attachments); !slices.Equal(got, []string{"fine.txt"}) || !strings.Contains(strings.Join(outbox.Refused, "\n"), "1000 entries") {
			t.Errorf("%q, %q", got, outbox.Refused)
		}
	})
}

// What was refused is kept aside whatever it is called, and takes the place of nothing.
func TestWhatIsRefusedIsKeptAside(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		unsent := filepath.Join(w.config.Threads, w.thread, "unsent")
		deep := strings.Repeat(strings.Repeat("d", 100)+"/", 4)
		for _, content := range []string{"a", "b"} {
			w.outbox("huge.bin", strings.Repeat(content, 1<<20+1))
			w.outbox(deep+"huge.bin", strings.Repeat(content, 1<<20+1))
			outbox := w.collect()
			w.room.Clear(w.thread, outbox.Taken)
			if again := w.collect(); len(again.Refused) > 0 {
				t.Errorf("refused again: %q", again.Refused)
			}
		}
		if kept, err := os.ReadDir(unsent); err != nil || len(kept) != 4 {
			t.Errorf("kept aside: %v, %v", kept, err)
		}
	})
}

// What was sent is cleared away although what was refused cannot be kept aside.
func TestWhatWasSentIsClearedWithoutAPlaceForTheRest(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		sent, refused := w.outbox("fine.txt", "fine"), w.outbox("huge.bin", strings.Repeat("x", 1<<20+1))
		if err := os.Symlink("/tmp", filepath.Join(w.config.Threads, w.thread, "unsent")); err != nil {
			t.Fatal(err)
		}
		outbox := w.collect()
		w.reply(outbox.Attachments)
		w.room.Clear(w.thread, outbox.Taken)
		if _, err := os.Lstat(sent); err == nil {
			t.Error("what was sent is still there")
		}
		if _, err := os.Lstat(refused); err != nil {
			t.Error(err)
		}
	})
}

// A file that is written while it is taken in goes with the next reply, as it is then.
func TestAFileThatIsWrittenMeanwhileIsNotTorn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		path := w.outbox("plot.png", string(png))
		w.on("write", func() { // its bytes are read
			if err := os.WriteFile(path, []byte("written meanwhile"), 0o600); err != nil {
				t.Error(err)
			}
		})
		if outbox := w.collect(); len(outbox.Attachments)+len(outbox.Taken)+len(outbox.Refused) > 0 {
			t.Errorf("torn: %+v", outbox)
		}
		w.on("write", nil)
		if outbox := w.collect(); len(outbox.Attachments) != 1 || outbox.Attachments[0].Size != int64(len("written meanwhile")) {
			t.Errorf("%+v", outbox)
		}
		w.sweep()
		if on := w.onDisk(); len(on) != 1 {
			t.Errorf("on disk: %q", on)
		}
	})
}

// What the agent has put in the place of a copy, or has cut, is a copy again for the next
// turn, and no link that it makes has anything removed elsewhere.
func TestLinksInThePlaceOfCopies(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		file := w.must(w.put("data.csv", []byte("a,b")))
		lay := func() string {
			desk, err := w.room.Lay(t.Context(), w.thread, []pluginsdk.Attachment{file.Attachment()})
			if err != nil || len(desk.Missing) > 0 {
				t.Fatalf("%+v, %v", desk, err)
			}
			return desk.Files[file.ID].Path
		}
		path := lay()
		secret := filepath.Join(filepath.Dir(path), "sec") // a link to it is as large as the file
		if err := errors.Join(os.WriteFile(secret, []byte("xyz"), 0o600), os.Remove(path), os.Symlink("sec", path)); err != nil {
			t.Fatal(err)
		}
		for _, spoil := range []func() error{
			func() error { return nil },
			func() error { return errors.Join(os.Chmod(path, 0o600), os.Truncate(path, 1)) },
		} {
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(lay())
			if err != nil || !info.Mode().IsRegular() || info.Size() != 3 {
				t.Errorf("%v, %v", info, err)
			}
		}
		in, elsewhere := filepath.Dir(filepath.Dir(path)), t.TempDir()
		others := []string{filepath.Join(elsewhere, file.ID), filepath.Join(elsewhere, uuid.NewString())}
		for _, dir := range others {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.RemoveAll(in), os.Symlink(elsewhere, in)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.room.Delete(t.Context(), file.ID); err != nil {
			t.Fatal(err)
		}
		w.sweep()
		for _, dir := range others {
			if _, err := os.Lstat(dir); err != nil {
				t.Errorf("removed through a link: %v", err)
			}
		}
	})
}

// What is no thread's id, and no hash, leads nowhere.
func TestNoIDLeadsElsewhere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.outbox("made.txt", "made")
		path := w.outbox("../../../elsewhere/out/secret.txt", "secret")
		outbox, err := w.room.Collect(t.Context(), "../elsewhere")
		if err != nil || len(outbox.Attachments)+len(outbox.Refused) > 0 {
			t.Errorf("%+v, %v", outbox, err)
		}
		_, err = w.room.Lay(t.Context(), "../elsewhere", nil)
		wantCode(t, err, pluginsdk.CodeInvalid)
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		stat := info.Sys().(*syscall.Stat_t)
		w.room.Clear("../elsewhere", []ledger.OutboxEntry{{
			Path: "secret.txt", Identity: fmt.Sprintf("%d/%d/%d/%d.%09d", stat.Dev, stat.Ino, stat.Size, stat.Mtim.Sec, stat.Mtim.Nsec),
		}})
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
		kept, err := w.store.KeepFile(t.Context(), ledger.KeptFile{File: pluginsdk.File{
			SHA256: "../../elsewhere/out/secret.txt", Name: "x", Type: "text/plain", Size: 6, ThreadID: w.thread,
		}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.room.Read(t.Context(), pluginsdk.ReadFileRequest{ID: kept.ID})
		wantCode(t, err, pluginsdk.CodeInternal)
	})
}

// A reply takes twenty files; the others go with the next one.
func TestAReplyTakesTwentyFiles(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for n := range 25 {
			w.outbox(fmt.Sprintf("f%02d.txt", n), fmt.Sprint(n))
		}
		for _, want := range []int{20, 5, 0} {
			outbox := w.collect()
			if len(outbox.Attachments) != want || (want == 20) != (len(outbox.Refused) == 1) {
				t.Fatalf("%d files, %q", len(outbox.Attachments), outbox.Refused)
			}
			w.reply(outbox.Attachments)
			w.room.Clear(w.thread, outbox.Taken)
		}
	})
}

// A full disk leaves the file where it is, for the next reply.
func TestTheOutboxOnAFullDisk(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.outbox("plot.png", string(png))
		w.failing("write", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
		outbox := w.collect()
		if len(outbox.Attachments) != 0 || len(outbox.Refused) != 1 || !strings.Contains(outbox.Refused[0], "is full") {
			t.Fatalf("%+v", outbox)
		}
		w.room.Clear(w.thread, outbox.Taken)
		w.failing("write", nil)
		if on := w.onDisk(); len(on) != 0 {
			t.Errorf("left %q", on)
		}
		if outbox := w.collect(); len(outbox.Attachments) != 1 {
			t.Errorf("%+v", outbox)
		}
	})
}

// Directories of threads that are gone go, and copies of files that are gone.
func TestSweepingDirectoriesOfThreads(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		file := w.must(w.put("a", []byte("a")))
		if _, err := w.room.Lay(t.Context(), w.thread, []pluginsdk.Attachment{file.Attachment()}); err != nil {
			t.Fatal(err)
		}
		gone := filepath.Join(w.config.Threads, uuid.NewString())
		copied := filepath.Join(w.config.Threads, w.thread, "in", uuid.NewString())
		mine := filepath.Join(w.config.Threads, "notes-of-mine")
		for _, dir := range []string{gone, copied, mine} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		w.sweep()
		for dir, want := range map[string]bool{gone: false, copied: false, mine: true, filepath.Join(w.config.Threads, w.thread, "in", file.ID): true} {
			if _, err := os.Lstat(dir); (err == nil) != want {
				t.Errorf("%s: %v", dir, err)
			}
		}
	})
}

// What cannot be removed keeps nothing behind it from being removed, now or ever.
func TestWhatCannotBeRemovedStopsNoSweep(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var dirs []string
		for range 3 {
			dirs = append(dirs, filepath.Join(w.config.Threads, uuid.NewString()), filepath.Join(w.config.Threads, w.thread, "in", uuid.NewString()))
		}
		for _, dir := range dirs {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		steps := 0
		w.on("remove", func() {
			steps++
			w.failing("remove", nil)
			if steps%4 == 1 || steps > 9 { // one of each kind, and these again
				w.failing("remove", os.ErrPermission)
			}
		})
		for _, content := range []string{"a", "b", "c"} {
			w.failing("sweep", errors.New("not yet"))
			if _, _, err := w.room.Delete(t.Context(), w.must(w.put(content, []byte(content))).ID); err != nil {
				t.Fatal(err)
			}
		}
		w.failing("sweep", nil)
		w.sweep()
		if err := w.room.Stop(t.Context()); err != nil { // another sweep may be under way
			t.Fatal(err)
		}
		left := len(w.onDisk())
		for _, dir := range dirs {
			if _, err := os.Lstat(dir); err == nil {
				left++
			}
		}
		if steps < 9 || left != 3 {
			t.Errorf("%d steps, %d left", steps, left)
		}
	})
}

// What no message refers to goes with old rows; what one refers to stays.
func TestPruningTakesWhatNoMessageRefersTo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		used, unused := w.must(w.put("used", []byte("used"))), w.must(w.put("unused", []byte("unused")))
		w.reply([]pluginsdk.Attachment{used.Attachment()})
		done, err := w.store.Prune(t.Context(), used.CreatedAt.AddDate(0, 0, 1), false)
		if err != nil || done.Files != 1 {
			t.Fatalf("%+v, %v", done, err)
		}
		_, err = w.room.Get(t.Context(), unused.ID)
		wantCode(t, err, pluginsdk.CodeNotFound)
		w.sweep()
		w.reads(used, []byte("used"))
		if on := w.onDisk(); len(on) != 1 {
			t.Errorf("on disk: %q", on)
		}
	})
}
