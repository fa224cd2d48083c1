package agentcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/invoker"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// model is what the turns ask for: both of the oldest and of the newest CLI know its price.
const model = "claude-sonnet-4-6"

// thread is the conversation of a world.
const thread = "agent-check"

// world is what a group of lines is looked at in: an API, an empty home, a working
// directory, and the product's agent over the CLI.
type world struct {
	ctx    context.Context //nolint:containedctx // of the whole group, which is one call
	api    *fakeapi.Server
	config invoker.Config
	dir    string // home, working directory and all else are below it
	home   string
	work   string

	agent      *invoker.Claude // nil: not started
	session    string          // of the conversation; empty: it has not begun
	chosen     string          // what its id was to be
	first      *turn           // that began the conversation
	tools      *tools          // nil: none
	told       *told           // of the plan's windows; nil: there is no plan
	resumption *resumption     // nil: it was not resumed
	meanwhile  *meanwhile      // nil: there was no fresh session
	alone      *alone          // nil: there is none
}

// environ is what the CLI inherits: no login, no settings and no proxies of the user's.
func environ(home string) []string {
	kept := []string{"HOME=" + home, "LANG=C.UTF-8", "TZ=UTC"}
	for _, name := range []string{"PATH", "USER", "LOGNAME", "SHELL"} {
		if value, ok := os.LookupEnv(name); ok {
			kept = append(kept, name+"="+value)
		}
	}
	return kept
}

// nobody is an address at which nothing answers: what the CLI asks of others than the fake
// API does not leave the machine.
const nobody = "http://127.0.0.1:9"

func newWorld(ctx context.Context, config Config, dir string) (*world, error) {
	w := &world{ctx: ctx, dir: dir, home: filepath.Join(dir, "h"), work: filepath.Join(dir, "w"), api: fakeapi.New()}
	tmp := filepath.Join(dir, "t")
	for _, made := range []string{w.home, w.work, tmp} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			return nil, err
		}
	}
	if err := w.api.Listen("127.0.0.1:0"); err != nil {
		return nil, err
	}
	w.config = invoker.Config{
		Binary: config.Binary, Workspace: w.work, Model: model, Private: filepath.Join(dir, "p"), Log: config.Log, Catalog: config.catalog,
		Environ: environ(w.home),
		Env: slices.Concat(fakeapi.Env(w.api.URL(), w.home), []string{
			"TMPDIR=" + tmp, "CLAUDE_CODE_TMPDIR=" + tmp, "CLAUDE_CODE_MAX_RETRIES=1",
			"HTTPS_PROXY=" + nobody, "https_proxy=" + nobody, "HTTP_PROXY=" + nobody, "http_proxy=" + nobody,
		}, config.Env),
		Unsafe:      true,                                                                                                          // each line is looked at, also with a CLI that gets no session of Harness
		TurnTimeout: time.Minute, SilenceTimeout: 45 * time.Second, InterruptGrace: 10 * time.Second, CloseGrace: 10 * time.Second, // also of a slow machine: the CLI itself is to stop
	}
	return w, nil
}

// close ends what the world has running.
func (w *world) close() {
	if w.alone != nil {
		w.alone.close()
	}
	_ = w.stop()
	_ = w.api.Close()
	if w.tools != nil {
		w.tools.close()
	}
}

// failed is the panic with which a line ends that does not hold.
type failed struct{ words string }

// try runs a part of a line and returns why it does not hold.
func (w *world) try(part func()) (err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case failed:
			err = errors.New(cause.words)
		default:
			err = fmt.Errorf("looking at it went wrong: %v", cause)
		}
		if err != nil && w.ctx.Err() != nil {
			err = fmt.Errorf("it came to no end (%w)", err)
		}
	}()
	part()
	return nil
}

// expect ends the line as broken, with these words, unless ok.
func (w *world) expect(ok bool, format string, args ...any) {
	if !ok {
		panic(failed{fmt.Sprintf(format, args...)})
	}
}

func (w *world) must(err error) { w.expect(err == nil, "%v", err) }

// start starts the agent, unless it runs.
func (w *world) start() *invoker.Claude {
	if w.agent != nil {
		return w.agent
	}
	agent, err := invoker.New(w.config)
	w.must(err)
	w.must(agent.Start(w.ctx))
	w.agent = agent
	return agent
}

// stop ends the agent cleanly. The next turn starts another, as after a restart of Harness.
func (w *world) stop() error {
	if w.agent == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), 15*time.Second)
	defer cancel()
	err := w.agent.Stop(ctx)
	w.agent = nil
	return err
}

// request is the next turn of the conversation.
func (w *world) request(prompt string) ledger.AgentRequest {
	begun := w.session != ""
	if !begun {
		w.session = uuid.NewString()
		w.chosen = w.session
	}
	return ledger.AgentRequest{
		RunID: uuid.NewString(), ThreadID: thread, SessionID: w.session, Resume: begun, Prompt: prompt,
	}
}

// fresh is a turn in a session of its own.
func (w *world) fresh(prompt string) ledger.AgentRequest {
	return ledger.AgentRequest{RunID: uuid.NewString(), ThreadID: thread, Fresh: true, Prompt: prompt}
}

// turn is a turn that is over, with what it cost by the API's own count.
type turn struct {
	pluginsdk.InvokeResult
	events []pluginsdk.StreamEvent
	bill   fakeapi.Bill
	calls  []fakeapi.Request // of the Messages API
}

// invoke runs a turn.
func (w *world) invoke(request ledger.AgentRequest) turn { return w.invokeIn(w.ctx, request, nil) }

// invokeIn runs a turn, until ctx ends, and tells each event.
func (w *world) invokeIn(ctx context.Context, request ledger.AgentRequest, each func(pluginsdk.StreamEvent)) turn {
	agent := w.start()
	before, seen := w.api.Billed(), len(w.api.Requests())
	var t turn
	t.InvokeResult = agent.Invoke(ctx, request, func(event pluginsdk.StreamEvent) {
		t.events = append(t.events, event)
		if each != nil {
			each(event)
		}
	})
	t.bill, t.calls = w.api.Billed().Since(before), w.api.Requests()[seen:]
	if !request.Fresh && request.ThreadID == thread && t.SessionID != "" {
		w.session = t.SessionID
	}
	return t
}

// say runs the next turn of the conversation, which has to end with that text.
func (w *world) say(prompt, want string) turn {
	t := w.invoke(w.request(prompt))
	w.answered(t, want)
	return t
}

// answered expects that a turn has ended with that text.
func (w *world) answered(t turn, want string) {
	w.expect(t.Failure == nil, "a turn failed: %s", wordsOf(t.Failure))
	w.expect(t.Text == want, "a turn was answered %q instead of %q", cut(t.Text), want)
}

// began begins the conversation, unless it has begun, and returns its first turn.
func (w *world) began() turn {
	if w.first == nil {
		t := w.invoke(w.request("thread: agent check\n\n---\n\nthink: say:Hello from far away."))
		w.first = &t
	}
	return *w.first
}

// results returns what the tools of a turn answered.
func (t turn) results() []pluginsdk.StreamEvent {
	return slices.DeleteFunc(slices.Clone(t.events), func(e pluginsdk.StreamEvent) bool { return e.Type != pluginsdk.StreamToolResult })
}

// saw reports whether the model saw a text in any call of the turn.
func (t turn) saw(text string) bool { return slices.ContainsFunc(t.calls, fakeapi.Seeing(text)) }

// main are the turn's calls for the conversation itself.
func (t turn) main() []fakeapi.Request {
	return slices.DeleteFunc(slices.Clone(t.calls), func(r fakeapi.Request) bool { return !fakeapi.Main(r) })
}

// uses is a reply that calls a tool.
func uses(tool string, input map[string]any) fakeapi.Reply {
	return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: tool, Input: encode(input)}}}
}

// prompt is a prompt on which the fake model calls a tool, and says then once it has the
// result.
func prompt(tool string, input map[string]any, then string) string {
	return "usetool:" + tool + " " + string(encode(input)) + "\nthen:" + then
}

func encode(value any) json.RawMessage {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return encoded
}

// lay writes a file, whose name is relative to dir.
func (w *world) lay(dir, name, content string) string {
	path := filepath.Join(dir, name)
	w.must(os.MkdirAll(filepath.Dir(path), 0o700))
	w.must(os.WriteFile(path, []byte(content), 0o600))
	return path
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func wordsOf(failure *pluginsdk.Failure) string {
	if failure == nil {
		return "it did not"
	}
	return fmt.Sprintf("%s (%s)", cut(failure.Message), failure.Kind)
}

// cut shortens what others have written.
func cut(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 160 {
		return string(runes[:160]) + "…"
	}
	return text
}
