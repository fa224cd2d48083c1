package proc_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// sleeper starts a process that leads a group, prints a line once it runs, and waits for
// the end of its stdin.
func sleeper(t *testing.T, script string, env ...string) (*exec.Cmd, *proc.Group, string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = env
	cmd.SysProcAttr = proc.Attributes(syscall.SIGKILL)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, proc.Lead(cmd.Process), line[:len(line)-1]
}

func end(t *testing.T, cmd *exec.Cmd, group *proc.Group) {
	t.Helper()
	group.Signal(syscall.SIGKILL)
	_ = group.Wait(nil, cmd.Wait)
}

func linux(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("processes are read from /proc, which is not here")
	}
}

// An operator decides by these figures, and a process is ended by these names.
func TestWhatIsReadOfAProcess(t *testing.T) {
	linux(t)
	cmd, group, _ := sleeper(t, "echo up; read x", "MARK=1", "MARKER=2", "LAST=")
	defer end(t, cmd, group)
	pid := cmd.Process.Pid
	var r proc.Reader
	stat, ok := r.Stat(pid)
	if !ok || stat.ID.PID != pid || stat.ID.Start == 0 || stat.Parent != os.Getpid() || stat.Group != pid || stat.Threads != 1 || stat.Resident < 1<<12 || stat.Dead() {
		t.Errorf("read %+v, %v", stat, ok)
	}
	if name := r.Name(pid); name != "sh" && name != "dash" && name != "bash" {
		t.Errorf("its name is %q", name)
	}
	own, _ := r.Stat(os.Getpid())
	if !slices.Contains(r.Children(own), pid) || !slices.Contains(proc.All(), pid) {
		t.Error("it is nobody's child")
	}
	for name, want := range map[string]string{"MARK": "MARK=1", "MARKER": "MARKER=2", "LAST": "LAST=", "MAR": "", "ARK": ""} {
		if got, known := r.Variable(pid, name); got != want || !known {
			t.Errorf("%s: %q, %v", name, got, known)
		}
	}
	if _, known := r.Variable(1<<30, "MARK"); known {
		t.Error("what is not there has no environment")
	}
	if found := proc.Marked("MARK", "1"); !slices.Contains(found, stat.ID) || len(proc.Marked("MARK", "")) != 0 {
		t.Errorf("marked: %v", found)
	}
}

// A number that was given out again is another process, which nobody meant.
func TestASignalIsForTheVeryProcess(t *testing.T) {
	linux(t)
	cmd, group, _ := sleeper(t, "echo up; read x")
	var r proc.Reader
	stat, _ := r.Stat(cmd.Process.Pid)
	earlier := stat.ID
	earlier.Start--
	if earlier.Alive() || earlier.Signal(syscall.SIGKILL) || !stat.ID.Alive() {
		t.Error("a signal for an earlier process has hit this one")
	}
	end(t, cmd, group)
	if stat.ID.Alive() || stat.ID.Signal(syscall.SIGKILL) {
		t.Error("it lives on")
	}
}

// As long as a group may be killed by its number, the number is its own: what has ended is
// not waited for before everybody has let go, and nothing is signalled after that.
func TestTheNumberOfAGroupIsHeldAsLongAsItIsUsed(t *testing.T) {
	linux(t)
	cmd, group, _ := sleeper(t, "echo up; read x")
	reaped := make(chan struct{})
	var r proc.Reader
	if !group.Hold(func(pid int) {
		go func() { _ = group.Wait(nil, cmd.Wait); close(reaped) }()
		_ = syscall.Kill(pid, syscall.SIGKILL)
		for range 5000 { // much longer than it takes to wait for a process
			if _, ok := r.Stat(pid); !ok {
				t.Error("the number is free, and would still be used")
				break
			}
		}
	}) {
		t.Error("a running group is over")
	}
	<-reaped
	if group.Hold(func(int) { t.Error("a number was used that may be another's") }) {
		t.Error("it goes on")
	}
	group.Signal(syscall.SIGKILL) // which hits nobody
}

// What a process leaves behind in its group is killed before the group's number is free.
func TestWhatIsLeftOfAGroupIsKilledAtItsEnd(t *testing.T) {
	linux(t)
	cmd, group, child := sleeper(t, "sleep 3600 >/dev/null & echo $!")
	var r proc.Reader
	var left proc.ID
	err := group.Wait(func(pid int, kill func()) {
		if _, ok := r.Stat(pid); !ok {
			t.Error("its leader was waited for before what is left was looked at")
		}
		for _, n := range proc.All() {
			if stat, ok := r.Stat(n); ok && stat.Group == pid && n != pid {
				left = stat.ID
			}
		}
		kill()
	}, cmd.Wait)
	if err != nil {
		t.Error(err)
	}
	if left.PID == 0 {
		t.Fatalf("the child %s was not found in the group", child)
	}
	for left.Alive() { // it was killed, and is about to end
		if !slices.Contains(proc.All(), left.PID) {
			break
		}
	}
}

// After the end of who starts processes, none is started that nobody would end.
func TestAForkerThatIsClosed(t *testing.T) {
	f := proc.NewForker()
	refused := errors.New("refused")
	if err := f.Run(t.Context(), func() error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	inside, leave := make(chan struct{}), make(chan struct{})
	go func() { _ = f.Run(context.Background(), func() error { close(inside); <-leave; return nil }) }()
	<-inside
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(refused)
	if err := f.Run(gone, func() error { t.Error("it was run"); return nil }); !errors.Is(err, refused) {
		t.Errorf("while another one is started: %v", err)
	}
	close(leave)
	f.Close()
	f.Close()
	if err := f.Run(t.Context(), func() error { t.Error("it was run"); return nil }); !errors.Is(err, proc.ErrClosed) {
		t.Error(err)
	}
}

// Whoever looks for the processes of a plugin waits for one that shows no environment yet,
// and knows it from a thread of the kernel by its memory: one that is passed over lives on
// for ever.
func TestWhatBecomesAnotherProgramHasMemory(t *testing.T) {
	linux(t)
	var r proc.Reader
	for range 300 {
		cmd := exec.Command("/bin/cat")
		cmd.Env = []string{"MARK=1"}
		stdin, err := cmd.StdinPipe() // it lives until this is closed
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for known := false; !known; {
			var stat proc.Stat
			stat, _ = r.Stat(cmd.Process.Pid)
			if _, known = r.Variable(cmd.Process.Pid, "MARK"); !known && stat.Virtual == 0 {
				t.Errorf("without an environment it is %+v", stat)
			}
		}
		_ = stdin.Close()
		_ = cmd.Wait()
	}
}
