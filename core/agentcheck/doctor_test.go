package agentcheck

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A doctored CLI is the real one behind this test binary, which is run again in its place:
// it stands in the way of arguments, environment, and lines in both directions, and spoils
// one thing. A line of the suite that stays green then is no check.

// The environment by which the test binary knows that it is a doctored CLI.
const (
	doctoredBy = "AGENTCHECK_DOCTORED"
	realCLI    = "AGENTCHECK_CLI"
)

// anotherCLI is a version between the two that are pinned. What changed between them is told
// apart by it; it changed at different versions.
const anotherCLI = "2.1.224"

// doctoring is what a doctored CLI does.
type doctoring struct {
	name string
	// breaks are the lines that have to be broken, and no others, each with parts of the words
	// that it then has, with … between them.
	breaks map[string]string
	newest map[string]string // lines that are broken too, from the version anotherCLI on
	// batch is of those that one CLI has: doctorings that would get in each other's way are in
	// other batches.
	batch int
	// since and until are the versions with which there is something to spoil; empty: all.
	since, until string

	args func(args []string) []string
	env  func(name string) (drop bool)
	// in and out change a line to and from the CLI. Lines that they return nil for are
	// dropped.
	in     func(d *doctored, line object) object
	out    func(d *doctored, line object) object
	stderr func(text string) string
}

type object = map[string]any

// doctored is a doctored CLI at work.
type doctored struct {
	args    []string // of the CLI
	process *os.Process

	mu    sync.Mutex
	stdin io.Writer
	asked map[string]object // requests of the CLI by their ids
}

// tell writes a line to the CLI.
func (d *doctored) tell(line object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = d.stdin.Write(append(encode(line), '\n'))
}

// reply writes a line to Harness.
func (d *doctored) reply(line object) { _, _ = os.Stdout.Write(append(encode(line), '\n')) }

func TestMain(m *testing.M) {
	name := os.Getenv(doctoredBy)
	if name == "" {
		os.Exit(m.Run())
	}
	var all doctoring
	for _, d := range doctorings {
		if slices.Contains(strings.Split(name, "|"), d.name) {
			all = all.and(d)
		}
	}
	os.Exit(all.run(os.Getenv(realCLI), os.Args[1:]))
}

// and is a doctoring that does what both do.
func (d doctoring) and(more doctoring) doctoring {
	lines := func(first, second func(*doctored, object) object) func(*doctored, object) object {
		if first == nil || second == nil {
			return either(first, second, first == nil)
		}
		return func(at *doctored, line object) object {
			if line = first(at, line); line == nil {
				return nil
			}
			return second(at, line)
		}
	}
	both := doctoring{
		args: either(d.args, more.args, d.args == nil), env: either(d.env, more.env, d.env == nil), stderr: either(d.stderr, more.stderr, d.stderr == nil),
		in: lines(d.in, more.in), out: lines(d.out, more.out),
	}
	if d.args != nil && more.args != nil {
		both.args = func(args []string) []string { return more.args(d.args(args)) }
	}
	if d.env != nil && more.env != nil {
		both.env = func(name string) bool { return d.env(name) || more.env(name) }
	}
	if d.stderr != nil && more.stderr != nil {
		both.stderr = func(said string) string { return more.stderr(d.stderr(said)) }
	}
	return both
}

func either[F any](first, second F, takeSecond bool) F {
	if takeSecond {
		return second
	}
	return first
}

// run is the doctored CLI, from its start to its end.
func (d doctoring) run(binary string, args []string) int {
	if len(args) == 1 { // --version
		_ = syscall.Exec(binary, append([]string{binary}, args...), os.Environ())
	}
	runtime.LockOSThread() // by which the CLI knows that this process has died
	at := &doctored{args: args, asked: map[string]object{}}
	if d.args != nil {
		at.args = d.args(slices.Clone(args))
	}
	cmd := exec.Command(binary, at.args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == doctoredBy || name == realCLI || d.env != nil && d.env(name)
	})
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		return 127
	}
	at.stdin, at.process = stdin, cmd.Process
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		for signal := range signals {
			_ = cmd.Process.Signal(signal)
		}
	}()
	go func() {
		filter(os.Stdin, d.in, at, func(line []byte) {
			at.mu.Lock()
			defer at.mu.Unlock()
			_, _ = stdin.Write(line)
		})
		_ = stdin.Close()
	}()
	filter(stdout, d.noting(d.out), at, func(line []byte) { _, _ = os.Stdout.Write(line) })
	_ = cmd.Wait()
	said := stderr.String()
	if d.stderr != nil {
		said = d.stderr(said)
	}
	_, _ = os.Stderr.WriteString(said)
	return cmd.ProcessState.ExitCode()
}

// noting keeps the requests of the CLI, so that they can be answered in Harness' place.
func (d doctoring) noting(change func(*doctored, object) object) func(*doctored, object) object {
	return func(at *doctored, line object) object {
		if line["type"] == "control_request" {
			at.mu.Lock()
			at.asked[text(line["request_id"])] = part(line, "request")
			at.mu.Unlock()
		}
		if change == nil {
			return line
		}
		return change(at, line)
	}
}

// filter passes lines on, changed.
func filter(from io.Reader, change func(*doctored, object) object, at *doctored, pass func([]byte)) {
	reader := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			if changed := changedLine(line, change, at); changed != nil {
				pass(changed)
			}
		}
		if err != nil {
			return
		}
	}
}

func changedLine(line []byte, change func(*doctored, object) object, at *doctored) []byte {
	var decoded object
	if change == nil || json.Unmarshal(line, &decoded) != nil {
		return line
	}
	before := encode(decoded)
	decoded = change(at, decoded)
	if decoded == nil {
		return nil
	}
	if after := encode(decoded); !bytes.Equal(before, after) {
		return append(after, '\n')
	}
	return line
}

// part returns an object within an object; an empty one when there is none.
func part(whole object, names ...string) object {
	for _, name := range names {
		inner, ok := whole[name].(object)
		if !ok {
			return object{}
		}
		whole = inner
	}
	return whole
}

func text(value any) string {
	said, _ := value.(string)
	return said
}

// without drops the arguments that begin so.
func without(prefixes ...string) func([]string) []string {
	return func(args []string) []string {
		return slices.DeleteFunc(args, func(arg string) bool {
			return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(arg, prefix) })
		})
	}
}

// withoutVariable drops a variable of the environment.
func withoutVariable(dropped string) func(string) bool {
	return func(name string) bool { return name == dropped }
}

// withFile has the CLI get another content of the file that an argument names.
func withFile(flag string, change func(content string) string) func([]string) []string {
	return func(args []string) []string {
		for n, arg := range args {
			path, ok := strings.CutPrefix(arg, flag+"=")
			content, err := os.ReadFile(path)
			if !ok || err != nil {
				continue
			}
			changed := filepath.Join(os.Getenv("TMPDIR"), filepath.Base(path)+".doctored")
			if os.WriteFile(changed, []byte(change(string(content))), 0o600) == nil {
				args[n] = flag + "=" + changed
			}
		}
		return args
	}
}

// withSettings changes the settings that the CLI gets.
func withSettings(change func(settings object)) func([]string) []string {
	return withFile("--settings", func(content string) string {
		var settings object
		if json.Unmarshal([]byte(content), &settings) != nil {
			return content
		}
		change(settings)
		return string(encode(settings))
	})
}

// withServer has the CLI reach its MCP server through this process, which changes the lists of
// tools that the server gives.
func withServer(change func(tools []any) []any) func([]string) []string {
	var mu sync.Mutex // the lists are changed one after the other
	return withFile("--mcp-config", func(content string) string {
		var config object
		_ = json.Unmarshal([]byte(content), &config)
		entry := part(config, "mcpServers", "harness")
		to, err := url.Parse(text(entry["url"]))
		if err != nil {
			return content
		}
		listed := func(line string) string {
			data, ok := strings.CutPrefix(line, "data: ")
			var message object
			if json.Unmarshal([]byte(strings.TrimSpace(data)), &message) != nil {
				return line
			}
			tools, has := part(message, "result")["tools"].([]any)
			if !has {
				return line
			}
			mu.Lock()
			defer mu.Unlock()
			message["result"].(object)["tools"] = change(tools)
			if line = string(encode(message)) + "\n"; ok {
				line = "data: " + line
			}
			return line
		}
		proxy := &httputil.ReverseProxy{
			FlushInterval: -1,
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = to.Host },
			ModifyResponse: func(response *http.Response) error {
				if response.Request.Method != http.MethodPost {
					return nil
				}
				from := response.Body
				read, write := io.Pipe()
				response.Body = read
				response.Header.Del("Content-Length")
				response.ContentLength = -1
				go func() {
					defer from.Close()
					lines := bufio.NewReader(from)
					for {
						line, err := lines.ReadString('\n')
						if _, broken := io.WriteString(write, listed(line)); err != nil || broken != nil {
							write.Close()
							return
						}
					}
				}()
				return nil
			},
		}
		entry["url"] = httptest.NewServer(proxy).URL
		return string(encode(config))
	})
}

// scale multiplies every number below a value.
func scale(value any, by float64) any {
	switch value := value.(type) {
	case float64:
		return value * by
	case object:
		for name, inner := range value {
			value[name] = scale(inner, by)
		}
	}
	return value
}

// dearer has results cost twice as much, in processes for which it holds.
func dearer(holds func(args []string) bool) func(*doctored, object) object {
	return func(d *doctored, line object) object {
		if line["type"] == "result" && holds(d.args) {
			for _, name := range []string{"total_cost_usd", "usage", "modelUsage", "model_usage_since_last_result"} {
				if value, ok := line[name]; ok {
					line[name] = scale(value, 2)
				}
			}
		}
		return line
	}
}

func resumed(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--resume=") })
}

// answer answers a question of the CLI in Harness' place.
func (d *doctored) answer(line object, answer object) {
	d.tell(object{"type": "control_response", "response": object{
		"subtype": "success", "request_id": line["request_id"], "response": answer,
	}})
}

func asks(line object, tool string) bool {
	request := part(line, "request")
	return line["type"] == "control_request" && request["subtype"] == "can_use_tool" && (tool == "" || request["tool_name"] == tool)
}
