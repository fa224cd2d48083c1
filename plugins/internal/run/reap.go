package run

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// A process group does not hold a process that leaves it (setsid, a double fork). Where Reap was
// called, a program with EndGroup is therefore started by a process between: a second one of this
// binary, which becomes the parent of whatever is left behind, and ends all of that.

const (
	// reaper is the first argument of the process between. Behind it stands the program.
	reaper = "end-all-of"
	// reaperGrace is how long a program has that was told to end. It is less than grace, after
	// which the process between is killed itself.
	reaperGrace = grace * 2 / 3
	// enough is how long the process between kills what is left.
	enough = 10 * time.Second
)

// between is the path of this binary, once Reap was called; empty: programs are started directly.
var between string

// Reap is the first call of main in a program that has commands end with EndGroup. In the process
// between it does not return. Without it, and on systems other than Linux, what leaves the process
// group is not ended.
func Reap() {
	Between()
	if path, err := os.Executable(); err == nil && runtime.GOOS == "linux" {
		between = asStarted(path)
	}
}

// Between does not return in a process between; otherwise it does nothing. A program that only
// sometimes calls Reap begins with it.
func Between() {
	if len(os.Args) > 2 && os.Args[1] == reaper {
		// os.Exit of a binary with the race detector waits for a second.
		syscall.Exit(reap(os.Args[2], os.Args[2:]))
	}
}

// asStarted returns the path with which this process was started, if that leads to its binary.
// It may be a link, by whose name people know the process.
func asStarted(binary string) string {
	started := os.Args[0]
	to, err := os.Stat(started)
	if err != nil || !filepath.IsAbs(started) {
		return binary
	}
	if info, err := os.Stat(binary); err != nil || !os.SameFile(to, info) {
		return binary
	}
	return started
}

// throughReaper has a command that is not started yet start by the process between.
func throughReaper(command *exec.Cmd) {
	if between == "" || command.Err != nil {
		return
	}
	if _, err := exec.LookPath(command.Path); err != nil && filepath.IsAbs(command.Path) {
		return // there is no such program: starting it says so
	}
	command.Args = append([]string{between, reaper, command.Path}, command.Args[1:]...)
	command.Path = between
}

// reap runs a program, ends all that it leaves behind, and returns its exit code.
func reap(path string, args []string) int {
	runtime.LockOSThread() // the program ends with the thread that has started it
	release, err := proc.Adopt()
	if err != nil {
		return unable(err)
	}
	defer release()
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	command := exec.Command(path, args[1:]...) //nolint:gosec // what Do was given
	command.Stdin, command.Stdout, command.Stderr, command.SysProcAttr = os.Stdin, os.Stdout, os.Stderr, attributes()
	if err := proc.Start(command); err != nil {
		return unable(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- proc.Wait(command) }()
	select {
	case err = <-ended:
	case <-told:
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGTERM)
		select {
		case err = <-ended:
		case <-time.After(reaperGrace):
			_ = command.Process.Kill()
			err = <-ended
		}
	}
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	proc.EndAdopted(enough)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return unable(err)
	}
	if status, ok := command.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		signal.Reset()
		_ = syscall.Kill(os.Getpid(), status.Signal())
		return 128 + int(status.Signal()) // of a signal that this process does not end of
	}
	return command.ProcessState.ExitCode()
}

// unable says that a program could not be run, as a shell does.
func unable(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 126
}
