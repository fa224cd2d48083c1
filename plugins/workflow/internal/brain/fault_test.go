package brain_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/brain"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The test's own program plays another process that has something of a directory.
const (
	playsOwner = "WORKFLOW_TEST_OWNER"
	playsSaver = "WORKFLOW_TEST_SAVER"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(playsOwner); dir != "" {
		release := func() {}
		b, err := brain.Open(dir)
		if err == nil {
			release, err = b.Lock("w-child")
		}
		fmt.Println(err)
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or nobody is left to do so
		release()
		os.Exit(0)
	}
	if dir := os.Getenv(playsSaver); dir != "" {
		os.Exit(saveAll(dir))
	}
	os.Exit(m.Run())
}

// saveAll saves one state after the other, until it is killed.
func saveAll(dir string) int {
	b, err := brain.Open(dir)
	for n := 1; err == nil; n++ {
		state := at(fmt.Sprintf("w%d", n))
		state.Request = strings.Repeat("long ", 20000)
		if err = b.Save(state); n == 1 {
			fmt.Println(err)
		}
	}
	return 1
}

// child starts the test's own program, and waits for its first line.
func child(t *testing.T, plays, dir string) (kill func(), said string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), plays+"="+dir)
	_, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}
	t.Cleanup(kill)
	said, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return kill, strings.TrimSpace(said)
}

func TestOneWorkflowADirectory(t *testing.T) {
	dir := t.TempDir()
	b, other := open(t, dir), open(t, dir)
	release, err := b.Lock("w1")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*brain.Brain{b, other} {
		_, err := b.Lock("w2")
		if pluginsdk.CodeOf(err) != pluginsdk.CodeConflict || !strings.Contains(err.Error(), fmt.Sprintf("workflow w1 (pid %d)", os.Getpid())) {
			t.Errorf("a second one: %v", err)
		}
	}
	release()
	release()
	release, err = other.Lock("w2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Lock("w1"); err == nil || !strings.Contains(err.Error(), "workflow w2 (pid") || strings.Contains(err.Error(), "w1") {
		t.Errorf("after the first has ended: %v", err)
	}
	release()
}

func TestADeadOwnerHoldsNothing(t *testing.T) {
	dir := t.TempDir()
	kill, said := child(t, playsOwner, dir)
	if said != "<nil>" {
		t.Fatal(said)
	}
	b := open(t, dir)
	if _, err := b.Lock("w1"); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict || !strings.Contains(err.Error(), "workflow w-child (pid ") {
		t.Fatalf("while it lives: %v", err)
	}
	kill()
	release, err := b.Lock("w1")
	if err != nil {
		t.Fatalf("after it has died: %v", err)
	}
	release()
}

// Whoever removes the file, or writes words of its own into it, gives the directory to nobody.
func TestALockWhoseFileIsTamperedWith(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	release, err := b.Lock("w1")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, brain.Dir, brain.LockFile), "\x1b[2Jnobody\n"+strings.Repeat("x", 5000))
	if _, err := b.Lock("w2"); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 1000 {
		t.Errorf("%v", err)
	}
	release()
	if err := os.Remove(filepath.Join(dir, brain.Dir, brain.LockFile)); err != nil {
		t.Fatal(err)
	}
	release, err = b.Lock("w2")
	if err != nil {
		t.Fatal(err)
	}
	release()
}

// Who is killed while the state is written leaves the state before, or the one after.
func TestAWriterThatIsKilledLeavesAWholeState(t *testing.T) {
	for range 10 {
		dir := t.TempDir()
		kill, said := child(t, playsSaver, dir)
		if said != "<nil>" {
			t.Fatal(said)
		}
		kill()
		b := open(t, dir)
		state, found, err := b.Load()
		if !found || err != nil || len(state.Request) != 100000 {
			t.Fatalf("%t, %v, %d bytes", found, err, len(state.Request))
		}
		if err := b.Save(at("w1")); err != nil {
			t.Fatal(err)
		}
	}
}

// Where nothing can be written, the error names the file and what to do, and the state is what it was.
func TestADirectoryThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	if err := b.Save(at("w1")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, brain.Dir, brain.StateFile)
	before := read(t, file)
	t.Run("no room", func(t *testing.T) {
		// A file of this process cannot be larger than nothing.
		var was unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
			t.Fatal(err)
		}
		limited := was
		limited.Cur = 0
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limited); err != nil {
			t.Skip(err)
		}
		err := b.Save(at("w2"))
		if again := unix.Setrlimit(unix.RLIMIT_FSIZE, &was); again != nil {
			t.Fatal(again)
		}
		if err == nil || !strings.Contains(err.Error(), file) || !errors.Is(err, syscall.EFBIG) {
			t.Errorf("%v", err)
		}
	})
	t.Run("not allowed", func(t *testing.T) {
		if os.Getuid() == 0 {
			t.Skip("root may write everywhere")
		}
		chmod := func(mode os.FileMode) {
			if err := os.Chmod(filepath.Join(dir, brain.Dir), mode); err != nil {
				t.Fatal(err)
			}
		}
		chmod(0o500)
		err := b.Save(at("w2"))
		chmod(0o700)
		if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "let the user that runs the daemon") {
			t.Errorf("%v", err)
		}
	})
	if read(t, file) != before || len(names(t, filepath.Dir(file))) != 2 {
		t.Errorf("there are %q", names(t, filepath.Dir(file)))
	}
	if _, err := brain.Open(filepath.Join(dir, "nothing")); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound || !strings.Contains(err.Error(), filepath.Join(dir, "nothing")) {
		t.Errorf("%v", err)
	}
	if _, err := brain.Open(file); err == nil || !strings.Contains(err.Error(), "it is no directory") {
		t.Errorf("%v", err)
	}
}

// What went wrong is said with the file's name and with what to do.
func TestErrorsSayWhatToDo(t *testing.T) {
	for _, row := range []struct {
		err  error
		code pluginsdk.Code
		todo string
	}{
		{&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, pluginsdk.CodeUnavailable, "free some space"},
		{&os.PathError{Op: "write", Path: "x", Err: syscall.EDQUOT}, pluginsdk.CodeUnavailable, "free some space"},
		{&os.PathError{Op: "openat", Path: "x", Err: syscall.EROFS}, pluginsdk.CodeInvalid, "let the user that runs the daemon"},
		{&os.LinkError{Op: "renameat", Old: "x", New: "y", Err: syscall.EACCES}, pluginsdk.CodeInvalid, "let the user that runs the daemon"},
		{&os.PathError{Op: "read", Path: "x", Err: syscall.EIO}, pluginsdk.CodeInternal, "input/output error"},
	} {
		err := brain.Explain("/d/.brain/PLAN.md", row.err)
		if pluginsdk.CodeOf(err) != row.code || !strings.HasPrefix(err.Error(), "/d/.brain/PLAN.md: ") || !strings.Contains(err.Error(), row.todo) || strings.Contains(err.Error(), " x:") {
			t.Errorf("%v is %v", row.err, err)
		}
	}
}

// A program that is being started has what this process had open for a moment longer: what was given back is
// free all the same.
func TestALockThatIsGivenBackIsFreeAtOnce(t *testing.T) {
	dir := t.TempDir()
	b, err := brain.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	release, err := b.Lock("first")
	if err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("what is open is read from /proc, which is not here")
	}
	copies := 0
	for _, entry := range open {
		var fd int
		if to, err := os.Readlink("/proc/self/fd/" + entry.Name()); err != nil || to != filepath.Join(dir, ".brain", brain.LockFile) {
			continue
		}
		if _, err := fmt.Sscan(entry.Name(), &fd); err != nil {
			t.Fatal(err)
		}
		inherited, err := unix.Dup(fd)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Close(inherited) }()
		copies++
	}
	release()
	again, err := b.Lock("second")
	if err != nil || copies == 0 {
		t.Fatalf("with %d copies: %v", copies, err)
	}
	again()
}
