package agentcheck

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
)

// raw is a process of the CLI that nobody interprets: it has the product's configuration,
// and what it writes is read here.
type raw struct {
	w       *world
	command *exec.Cmd
	release func()
	stdin   io.WriteCloser
	lines   chan rawLine // closed at the end of its output
}

// rawLine is a line of the CLI, with the fields that are looked at.
type rawLine struct {
	Type      string  `json:"type"`
	Subtype   string  `json:"subtype"`
	SessionID string  `json:"session_id"`
	IsError   bool    `json:"is_error"`
	Result    string  `json:"result"`
	TotalUSD  float64 `json:"total_cost_usd"`

	// Of system/init.
	Socket string         `json:"messaging_socket_path"`
	Memory map[string]any `json:"memory_paths"`
}

// rawPatience is how long a line of the CLI is waited for.
const rawPatience = 45 * time.Second

// open starts a process for a request, with the variables of the environment but those
// without. The caller closes it.
func (w *world) open(request ledger.AgentRequest, without ...string) *raw {
	command, release, err := w.start().Command(request)
	w.must(err)
	command.Env = slices.DeleteFunc(command.Env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(without, name)
	})
	r := &raw{w: w, command: command, release: release, lines: make(chan rawLine, 1024)}
	r.stdin, err = command.StdinPipe()
	w.must(err)
	out, err := command.StdoutPipe()
	w.must(err)
	w.must(command.Start())
	go func() {
		defer close(r.lines)
		reader := bufio.NewReaderSize(out, 1<<20)
		for {
			text, err := reader.ReadBytes('\n')
			var line rawLine
			if json.Unmarshal(text, &line) == nil {
				r.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return r
}

func (r *raw) send(line any) {
	_, err := r.stdin.Write(append(encode(line), '\n'))
	r.w.expect(err == nil, "the CLI takes no more input: %v", err)
}

// until returns the first line from now on that is looked for.
func (r *raw) until(what string, is func(rawLine) bool) rawLine {
	limit := time.NewTimer(rawPatience)
	defer limit.Stop()
	for {
		select {
		case line, ok := <-r.lines:
			r.w.expect(ok, "the CLI ended before %s", what)
			if is(line) {
				return line
			}
		case <-limit.C:
			r.w.expect(false, "the CLI did not write %s", what)
		case <-r.w.ctx.Done():
			r.w.expect(false, "the CLI did not write %s", what)
		}
	}
}

// begin runs the first turn, and returns with what the CLI says at its beginning.
func (r *raw) begin(prompt string) rawLine {
	r.send(map[string]any{"type": "user", "message": map[string]string{"role": "user", "content": prompt}})
	begun := r.until("system/init", func(l rawLine) bool { return l.Type == "system" && l.Subtype == "init" })
	r.until("a result", func(l rawLine) bool { return l.Type == "result" })
	return begun
}

// turn runs a turn and returns its result line.
func (r *raw) turn(prompt string) rawLine {
	r.send(map[string]any{"type": "user", "message": map[string]string{"role": "user", "content": prompt}})
	return r.until("a result", func(l rawLine) bool { return l.Type == "result" })
}

// kill ends the process at once.
func (r *raw) kill() {
	_ = r.command.Process.Kill()
	r.wait()
}

// close ends the process as Harness ends an idle one.
func (r *raw) close() {
	_ = r.stdin.Close()
	limit := time.AfterFunc(rawPatience, func() { _ = r.command.Process.Kill() })
	defer limit.Stop()
	r.wait()
}

func (r *raw) wait() {
	for range r.lines { // Wait may be called once all output is read
		continue
	}
	_ = r.command.Wait()
	r.release()
}

// String is for words about it.
func (l rawLine) String() string { return fmt.Sprintf("%s/%s %s", l.Type, l.Subtype, cut(l.Result)) }
