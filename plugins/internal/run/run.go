// Package run starts programs for the shipped plugins that may hang, talk without end, or
// leave children behind.
package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// grace is how long a program that was told to end (SIGTERM) has for it.
const grace = 3 * time.Second

// Command is a program to run.
type Command struct {
	Args  []string // the program first
	Dir   string
	Env   []string // the whole of it
	Stdin io.Reader
	// Stdout and Stderr get what is said; nil: the result has it. They may be the same.
	Stdout, Stderr io.Writer
	// Limit is how long it may run; then its group is ended, and the error says so.
	Limit time.Duration
	// Most is how many bytes of output are taken into the result; more of it end the program.
	// 0: only the last TailBytes are kept, of as much as there is.
	Most int
	// EndGroup ends what it has started and left behind when it ends: its process group and, where
	// Reap was called, what has left that.
	EndGroup bool
}

// ErrLate is in the error of a program that ran longer than it may.
var ErrLate = errors.New("it has not ended in time")

// TailBytes is how much is kept of what is kept the end of.
const TailBytes = 16 << 10

// Result is what a program that was started has come to.
type Result struct {
	Code   int // of its exit; -1: it was ended by a signal
	Stdout []byte
	Stderr string // its end
}

// Do runs a program in a process group of its own, which ends with the context. The error is
// nil when the program has ended by itself, whatever its exit code: it is the context's, or
// says that the program could not be started, ran too long or said too much.
func Do(ctx context.Context, c Command) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Limit, fmt.Errorf("%s has not ended within %s: %w", c.Args[0], c.Limit, ErrLate))
	defer cancel()
	command := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	if c.EndGroup {
		throughReaper(command)
	}
	command.Dir, command.Env, command.Stdin = c.Dir, c.Env, c.Stdin
	command.SysProcAttr = attributes()
	// A child that keeps the output open does not keep its parent's result.
	command.WaitDelay = grace
	told := false // to end: it did not do so by itself
	command.Cancel = func() error {
		told = true
		return syscall.Kill(-command.Process.Pid, syscall.SIGTERM)
	}
	out, stderr := &buffer{most: c.Most}, &buffer{}
	command.Stdout, command.Stderr = out, stderr
	if c.Stdout != nil {
		command.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		command.Stderr = c.Stderr
	}
	err := command.Run()
	if command.Process != nil && (ctx.Err() != nil || c.EndGroup) {
		// What did not listen, or is left. Nobody else is given the group's number as long as
		// there is anything in it.
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	}
	result := Result{Code: command.ProcessState.ExitCode(), Stdout: out.bytes(), Stderr: string(stderr.bytes())}
	var exit *exec.ExitError
	switch {
	case told, command.Process == nil && ctx.Err() != nil:
		return result, context.Cause(ctx)
	case out.over:
		return result, fmt.Errorf("%s has said more than %d bytes", c.Args[0], c.Most)
	case errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		return result, nil
	}
	return result, err
}

// buffer keeps what is written, up to a limit, or the end of it.
type buffer struct {
	data []byte
	most int
	over bool
	cut  bool
}

func (b *buffer) Write(p []byte) (int, error) {
	if b.most > 0 && len(b.data)+len(p) > b.most {
		b.over = true
		return 0, errors.New("too much output")
	}
	b.data = append(b.data, p...)
	if b.most == 0 && len(b.data) > 4*TailBytes {
		b.data, b.cut = bytes.Clone(b.data[len(b.data)-TailBytes:]), true
	}
	return len(p), nil
}

func (b *buffer) bytes() []byte {
	if b.most == 0 && (b.cut || len(b.data) > TailBytes) {
		return append([]byte("[cut] "), b.data[max(0, len(b.data)-TailBytes):]...)
	}
	return b.data
}
