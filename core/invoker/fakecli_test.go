package invoker

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/seed-706843ae/harness/core/invoker/cli"
)

// fakeCLI stands in for the CLI: it speaks its protocol and does in a turn what
// the last line of the prompt says ("say hello", "crash", ...). Sessions are
// files in a directory, so that they outlive it as the real one's do.
type fakeCLI struct {
	in      *bufio.Reader
	mode    string
	session string
	file    string // of the session
	cost    float64
	replay  []fixtureLine // what is left of the recording that is replayed
	begun   bool          // it has had a prompt
}

// answerProbe answers a command that is no session, if it is one.
func answerProbe() (answered bool) {
	switch os.Args[len(os.Args)-1] {
	case "--version":
		fmt.Println(os.Getenv("INVOKER_TEST_VERSION") + " (Claude Code)")
	case "--help":
		fmt.Println("Usage: claude " + os.Getenv("INVOKER_TEST_HELP"))
	default:
		return false
	}
	return true
}

func runFakeCLI(mode string) {
	if answerProbe() {
		return
	}
	if strings.Contains(mode, "deaf") {
		signal.Ignore(syscall.SIGTERM)
	}
	f := &fakeCLI{in: bufio.NewReader(os.Stdin), mode: mode}
	f.openSession()
	for {
		message := f.read()
		if message == nil {
			break
		}
		switch message["type"] {
		case "user":
			f.turn(message)
		case "control_request":
			f.status(message)
		}
	}
	switch f.mode {
	case "plain", "hasty":
	case "babbling":
		for range 3 {
			f.announce()
		}
		f.endSession(3)
	case "leaving":
		_, _ = f.start("stubborn")
		f.endSession(3)
	default: // deaf, lasting, staying: do not end with stdin
		linger()
	}
	f.endSession(0)
}

// linger waits to be killed.
func linger() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR2)
	<-signals
}

// writeWhole writes a file that nobody sees half written.
func writeWhole(path string, data []byte) {
	hidden := filepath.Join(filepath.Dir(path), "new-"+filepath.Base(path))
	_ = os.WriteFile(hidden, data, 0o600)
	_ = os.Rename(hidden, path)
}

func argument(name string) string {
	for _, arg := range os.Args {
		if value, ok := strings.CutPrefix(arg, name+"="); ok {
			return value
		}
	}
	return ""
}

func (f *fakeCLI) openSession() {
	dir := os.Getenv("INVOKER_TEST_SESSIONS")
	started, _ := json.Marshal(os.Args[1:])
	writeWhole(filepath.Join(dir, fmt.Sprintf("start-%d", os.Getpid())), started)
	f.session = argument("--session-id")
	resume := argument("--resume")
	if resume != "" {
		f.session = resume
	}
	f.file = filepath.Join(dir, "session-"+f.session)
	_, err := os.Stat(f.file)
	switch {
	case resume != "" && err != nil:
		text := saysUnknownSession + ": " + resume
		f.write(map[string]any{"type": "result", "subtype": "error_during_execution", "is_error": true,
			"session_id": "11111111-2222-4333-8444-555555555555", "errors": []string{text}})
		fmt.Fprintln(os.Stderr, text)
		os.Exit(1)
	case resume == "" && err == nil:
		fmt.Fprintf(os.Stderr, "Error: Session ID %s is already in use.\n", f.session)
		os.Exit(1)
	}
	// Two processes in one session would spoil its transcript.
	if owner, err := os.ReadFile(f.file + ".lock"); err == nil {
		pid, _ := strconv.Atoi(string(owner))
		if syscall.Kill(pid, 0) == nil {
			_ = os.WriteFile(filepath.Join(dir, "overlap-"+f.session), nil, 0o600)
		}
	}
	_ = os.WriteFile(f.file+".lock", []byte(strconv.Itoa(os.Getpid())), 0o600)
	signals := make(chan os.Signal, 1)
	if !strings.Contains(f.mode, "deaf") {
		signal.Notify(signals, syscall.SIGTERM)
		go func() { <-signals; f.endSession(0) }()
	}
}

func (f *fakeCLI) endSession(code int) {
	os.Remove(f.file + ".lock")
	os.Exit(code)
}

func (f *fakeCLI) read() map[string]any {
	line, err := f.in.ReadBytes('\n')
	if err != nil {
		return nil
	}
	var message map[string]any
	_ = json.Unmarshal(line, &message)
	return message
}

func (f *fakeCLI) write(line any) {
	data, _ := json.Marshal(line)
	f.writeRaw(data)
}

func (f *fakeCLI) writeRaw(data []byte) {
	_, _ = os.Stdout.Write(append(bytes.Clone(data), '\n'))
}

func (f *fakeCLI) turn(message map[string]any) {
	f.begun = true
	prompt, _ := message["message"].(map[string]any)["content"].(string)
	_ = os.WriteFile(f.file, []byte(prompt), 0o600)
	if len(f.replay) > 0 {
		f.play()
		return
	}
	lines := strings.Split(prompt, "\n")
	verb, rest, _ := strings.Cut(lines[len(lines)-1], " ")
	begins := map[string]any{}
	_ = json.Unmarshal([]byte(os.Getenv("INVOKER_TEST_INIT")), &begins)
	maps.Copy(begins, map[string]any{"type": "system", "subtype": "init", "session_id": f.session, "model": "fake-model",
		"claude_code_version": os.Getenv("INVOKER_TEST_VERSION"), "tools": strings.Fields(os.Getenv("INVOKER_TEST_TOOLS"))})
	f.write(begins)
	if message["uuid"] != nil { // steered, and too late for the turn that ran
		f.echo(message)
	}
	f.act(verb, rest)
}

func (f *fakeCLI) echo(message map[string]any) {
	f.write(map[string]any{"type": "user", "message": message["message"], "uuid": message["uuid"], "isReplay": true})
}

// announce shows that the turn is running.
func (f *fakeCLI) announce() {
	f.write(map[string]any{"type": "assistant", "message": map[string]any{
		"content": []any{map[string]any{"type": "text", "text": "working"}}}})
}

func (f *fakeCLI) act(verb, rest string) {
	switch verb {
	case "say":
		f.say(rest)
	case "taken": // with what people say meanwhile
		f.announce()
		steered := f.read()
		f.echo(steered)
		f.say(rest + " " + fmt.Sprint(steered["message"].(map[string]any)["content"]))
	case "late": // people say something before the end that is not taken up
		f.announce()
		_, _ = f.in.Peek(1)
		f.say(rest)
	case "latefail":
		f.announce()
		_, _ = f.in.Peek(1)
		f.act("fail", rest)
	case "version":
		f.say(os.Getenv("INVOKER_TEST_VERSION"))
	case "chatter": // never ends and is never silent
		for {
			f.announce()
		}
	case "mumble": // words on stderr, then nothing
		fmt.Fprintln(os.Stderr, rest)
		linger()
	case "spend": // half of an API call, then the end
		f.spend()
		f.endSession(3)
	case "crash":
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 3*tailSize)+" "+rest)
		f.endSession(3)
	case "silent":
		linger()
	case "wait":
		f.awaitInterrupt()
	case "ignore": // goes on in spite of an interrupt
		f.announce()
		linger()
	case "huge":
		size, _ := strconv.Atoi(rest)
		f.write(map[string]any{"type": "user", "message": map[string]any{"content": []any{map[string]any{
			"type": "tool_result", "tool_use_id": "t1", "content": strings.Repeat("y", size)}}}})
		f.say("big")
	case "strange":
		f.strange()
	case "flood":
		n, _ := strconv.Atoi(rest)
		for i := range n {
			f.write(map[string]any{"type": "stream_event", "event": map[string]any{
				"type": "content_block_delta", "delta": map[string]any{"type": "text_delta", "text": fmt.Sprintf("%d ", i)}}})
		}
		f.say("flooded")
	case "ask":
		f.ask(rest, nil)
	case "askon": // and does not end when it is interrupted
		f.write(map[string]any{"type": "control_request", "request_id": "r1", "request": map[string]any{
			"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "t1", "input": map[string]any{}}})
		f.read()
		writeWhole(filepath.Join(os.Getenv("INVOKER_TEST_SESSIONS"), "interrupted-"+rest), nil)
		answer, _ := json.Marshal(f.read())
		writeWhole(filepath.Join(os.Getenv("INVOKER_TEST_SESSIONS"), "answer-"+rest), answer)
		linger()
	case "askback": // and take it back at once
		f.write(map[string]any{"type": "control_request", "request_id": "r1", "request": map[string]any{
			"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "t1", "input": map[string]any{}}})
		f.write(map[string]any{"type": "control_cancel_request", "request_id": "r1"})
		f.say(rest)
	case "askagain": // although a rule may allow it
		f.ask(rest, map[string]any{"decision_reason_type": "safetyCheck", "decision_reason": "It is a sensitive file."})
	case "fork":
		f.fork()
	case "quietly": // a tool call, then nothing
		f.write(map[string]any{"type": "assistant", "message": map[string]any{"content": []any{map[string]any{
			"type": "tool_use", "id": "t1", "name": "Bash", "input": map[string]any{}}}}})
		linger()
	case "replay":
		f.replay = loadFixture(rest)
		f.play()
	case "afterwards": // a turn of its own after this one, until told to end it
		f.say("done")
		f.write(map[string]any{"type": "system", "subtype": "init", "session_id": f.session, "model": "fake-model"})
		for {
			if _, err := os.Stat(filepath.Join(os.Getenv("INVOKER_TEST_SESSIONS"), "go")); err == nil {
				break
			}
		}
		f.say("of my own")
	case "stay": // end only when told to by tellEnd
		signal.Ignore(syscall.SIGTERM)
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGUSR2)
		go func() { <-told; f.endSession(0) }()
		f.mode = "staying"
		f.say(rest)
	case "asking":
		f.say("done")
		f.write(map[string]any{"type": "control_request", "request_id": "r1", "request": map[string]any{
			"subtype": "can_use_tool", "tool_name": "Bash", "input": map[string]any{}}})
		answer, _ := json.Marshal(f.read())
		writeWhole(filepath.Join(os.Getenv("INVOKER_TEST_SESSIONS"), "answer"), answer)
	case "fail":
		f.result(map[string]any{"is_error": true, "subtype": "success", "api_error_status": json.RawMessage(rest), "result": "API Error"})
	}
}

func (f *fakeCLI) say(text string) {
	f.write(map[string]any{"type": "assistant", "message": map[string]any{
		"model": "fake-model", "content": []any{map[string]any{"type": "text", "text": text}}}})
	f.result(map[string]any{"subtype": "success", "result": text})
}

func (f *fakeCLI) result(fields map[string]any) {
	f.cost += 0.01
	line := map[string]any{
		"type": "result", "is_error": false, "session_id": f.session, "num_turns": 1, "total_cost_usd": f.cost,
		"usage": map[string]any{"input_tokens": 10, "output_tokens": 2},
	}
	for key, value := range fields {
		line[key] = value
	}
	f.write(line)
}

// drop answers a request to take back a steered message. In the mode "hasty" it
// is too late for that.
func (f *fakeCLI) drop(message map[string]any) bool {
	request, _ := message["request"].(map[string]any)
	if request["subtype"] != "cancel_async_message" {
		return false
	}
	f.write(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": message["request_id"],
		"response": map[string]any{"cancelled": !strings.Contains(f.mode, "hasty")}}})
	return true
}

// status answers the question for the MCP servers with the first line of a file, which it
// takes off unless it is the last; without the file it does so before the first prompt alone,
// and has none. What it says of itself is in files too; without them it knows no such
// question.
func (f *fakeCLI) status(message map[string]any) {
	request, _ := message["request"].(map[string]any)
	subtype, _ := request["subtype"].(string)
	answer := map[string]any{"subtype": "error", "request_id": message["request_id"], "error": "Unsupported control request subtype: " + subtype}
	if slices.Contains(cli.Questions, subtype) {
		if said, err := os.ReadFile(filepath.Join(os.Getenv("INVOKER_TEST_SESSIONS"), "says-"+subtype)); err == nil {
			answer["subtype"], answer["response"] = "success", json.RawMessage(said)
		}
		f.write(map[string]any{"type": "control_response", "response": answer})
		return
	}
	path := filepath.Join(os.Getenv("INVOKER_TEST_SESSIONS"), "tools")
	content, err := os.ReadFile(path)
	if subtype == "mcp_status" && err != nil && !f.begun {
		answer["subtype"], answer["response"] = "success", map[string]any{"mcpServers": []any{}}
		f.write(map[string]any{"type": "control_response", "response": answer})
	}
	if subtype != "mcp_status" || err != nil {
		return
	}
	line, rest, more := strings.Cut(string(content), "\n")
	if more {
		writeWhole(path, []byte(rest))
	}
	f.writeRaw([]byte(strings.ReplaceAll(line, "ID", message["request_id"].(string))))
}

// spend streams an API call up to its last tokens.
func (f *fakeCLI) spend() {
	for _, event := range []map[string]any{
		{"type": "message_start", "message": map[string]any{"usage": map[string]any{
			"input_tokens": 700, "output_tokens": 1, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 5}}},
		{"type": "message_delta", "usage": map[string]any{"output_tokens": 30}},
	} {
		f.write(map[string]any{"type": "stream_event", "event": event})
	}
}

func (f *fakeCLI) awaitInterrupt() {
	f.announce()
	for {
		message := f.read()
		if message == nil {
			f.endSession(0)
		}
		if f.drop(message) || message["type"] != "control_request" {
			continue
		}
		f.result(map[string]any{"subtype": "error_during_execution", "is_error": true})
		f.write(map[string]any{"type": "control_response", "response": map[string]any{
			"subtype": "success", "request_id": message["request_id"]}})
		return
	}
}

// ask asks for a permission, with what it says of its reason, and says what the
// answer was.
func (f *fakeCLI) ask(rest string, reason map[string]any) {
	tool, input, _ := strings.Cut(rest, " ")
	request := map[string]any{
		"subtype": "can_use_tool", "tool_name": tool, "tool_use_id": "t1", "input": json.RawMessage(input)}
	if tool == "odd" {
		request["subtype"] = "something_new"
	}
	maps.Copy(request, reason)
	f.write(map[string]any{"type": "control_request", "request_id": "r1", "request": request})
	answer, _ := json.Marshal(f.read())
	f.say(string(answer))
}

// fork starts a process as the CLI's Bash tool does: in a session of its own.
// The answer is its number.
func (f *fakeCLI) fork() {
	pid, err := f.start("lingerer")
	if err != nil {
		f.say(err.Error())
		return
	}
	f.say(strconv.Itoa(pid))
}

// start starts a process in a session of its own, and returns its number when it
// runs: what it writes first is waited for.
func (f *fakeCLI) start(mode string) (pid int, err error) {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), fakeEnv+"="+mode)
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	running, err := child.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := child.Start(); err != nil {
		return 0, err
	}
	_, err = running.Read(make([]byte, 1))
	return child.Process.Pid, err
}

// strange writes what no release has written yet.
func (f *fakeCLI) strange() {
	for _, line := range []string{
		"not JSON at all", "[]", "null", "42", "", `{"type":"novelty","message":"text"}`, `{"type":7}`,
		`{"type":"system","subtype":"novelty","mcp_servers":"none"}`,
		`{"type":"assistant","message":{"content":[{"type":"novelty"},{"type":"text","text":5}]}}`,
		`{"type":"assistant","message":"text"}`, `{"type":"user","message":{"content":"text"}}`,
		`{"type":"user","message":{"content":7}}`, `{"type":"stream_event","event":"text"}`,
		`{"type":"control_response","response":{"request_id":"unasked"}}`,
		`{"type":"assistant","parent_tool_use_id":"t9","message":{"content":[{"type":"text","text":"sub-agent"},{"type":"tool_use","id":"t2","name":"Read","input":{}}]}}`,
		`{"type":"user","parent_tool_use_id":"t9","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}]}}`,
	} {
		f.writeRaw([]byte(line))
	}
	f.result(map[string]any{"result": "still here", "subtype": "success", "novelty": true, "modelUsage": "none"})
}

// fixtureLine is a line of a recording.
type fixtureLine struct {
	Dir  string          `json:"dir"`
	Line json.RawMessage `json:"line"`
}

func (l fixtureLine) kind() string {
	var h head
	_ = json.Unmarshal(l.Line, &h)
	return h.Type
}

func loadFixture(name string) []fixtureLine {
	data, err := os.ReadFile(filepath.Join(os.Getenv("INVOKER_TEST_DATA"), name+".jsonl"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(9)
	}
	var lines []fixtureLine
	for raw := range bytes.Lines(data) {
		var line fixtureLine
		if err := json.Unmarshal(raw, &line); err == nil {
			lines = append(lines, line)
		}
	}
	return lines
}

// play writes the recording up to the next prompt, reading where it reads.
func (f *fakeCLI) play() {
	f.replay = f.replay[1:] // the prompt
	requestID := ""
	for len(f.replay) > 0 {
		line := f.replay[0]
		switch {
		case line.Dir == "exit":
			f.replay = nil
			return
		case line.Dir == "in" && line.kind() == "user":
			return
		case line.Dir == "in":
			if message := f.read(); message["request_id"] != nil {
				requestID, _ = message["request_id"].(string)
			}
		case requestID != "":
			f.writeRaw(bytes.ReplaceAll(line.Line, []byte(`"req-1"`), []byte(strconv.Quote(requestID))))
		default:
			f.writeRaw(line.Line)
		}
		f.replay = f.replay[1:]
	}
}
