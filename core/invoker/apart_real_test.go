package invoker

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// secret is what strangers would like to know.
const secret = "the word is xyzzy"

// household is a real agent with a workspace that holds a secret, in memory, in a git commit
// and in its manual's import, and a directory of a thread apart with links to it.
type household struct {
	*realAgent
	workspace, own string
}

func startHousehold(t *testing.T, change func(*Config)) household {
	t.Helper()
	data := realDir(t)
	h := household{workspace: filepath.Join(data, "workspace"), own: filepath.Join(data, "threads", uuid.NewString(), "own")}
	lay(t, h.workspace, map[string]string{
		"context/memory.md": secret, "CLAUDE.md": "Be brief.\n@notes/people.md\n", "notes/people.md": secret,
	})
	lay(t, h.own, map[string]string{"own.md": "ours"})
	for name, to := range map[string]string{"linked.md": "context/memory.md", "linked": "context"} {
		if err := os.Symlink(filepath.Join(h.workspace, to), filepath.Join(h.own, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, arguments := range []string{"init -q", "add -A", "-c user.name=x -c user.email=x@x commit -q -m plugh"} {
		git := exec.Command("git", append([]string{"-C", data}, strings.Fields(arguments)...)...)
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v %s", arguments, err, out)
		}
	}
	h.realAgent = startReal(t, func(c *Config) {
		c.Workspace = h.workspace
		if change != nil {
			change(c)
		}
	})
	return h
}

// attempt is a call of a tool.
type attempt struct{ tool, input string }

// bashes are calls of the shell.
func bashes(lines ...string) (attempts []attempt) {
	for _, line := range lines {
		input, _ := json.Marshal(map[string]string{"command": line, "description": "look"}) //nolint:errchkjson // strings
		attempts = append(attempts, attempt{"Bash", string(input)})
	}
	return attempts
}

// reads are calls that look at a file, with and without a command.
func reads(path string) []attempt {
	input, _ := json.Marshal(map[string]string{"file_path": path}) //nolint:errchkjson // strings
	return append(bashes("cat "+path), attempt{"Read", string(input)})
}

// tries has the model make all these calls in one turn, and returns what came of each.
func (a *realAgent) tries(t *testing.T, request ledger.AgentRequest, attempts []attempt) (results []fakeapi.Block) {
	t.Helper()
	return a.triesTo(t, request, attempts, nil)
}

// triesTo is tries, and tells what the agent does.
func (a *realAgent) triesTo(t *testing.T, request ledger.AgentRequest, attempts []attempt, emit func(pluginsdk.StreamEvent)) (results []fakeapi.Block) {
	t.Helper()
	a.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		answers := r.ToolResults() // as they came, not as the calls were made
		for _, message := range r.Messages {
			for _, call := range message.Content {
				at := slices.IndexFunc(answers, func(b fakeapi.Block) bool { return b.ToolUseID == call.ID })
				if call.Type == "tool_use" && at >= 0 {
					results = append(results, answers[at])
				}
			}
		}
		if len(answers) > 0 {
			return fakeapi.Reply{Text: "done"}
		}
		var reply fakeapi.Reply
		for _, one := range attempts {
			reply.Tools = append(reply.Tools, fakeapi.ToolUse{Name: one.tool, Input: json.RawMessage(one.input)})
		}
		return reply
	})
	if request.ThreadID == "" {
		request.ThreadID, request.SessionID = uuid.NewString(), uuid.NewString()
	}
	request.Prompt = "look around"
	wantText(t, a.Invoke(t.Context(), request, emit), "done")
	a.api.Handle(nil)
	if len(results) != len(attempts) {
		t.Fatalf("%d results of %d calls", len(results), len(attempts))
	}
	return results
}

// spying are ways from the directory of a thread apart to the workspace, by which the CLI
// goes unasked where only the directory differs, or might.
func (h household) spying() []attempt {
	memory := filepath.Join(h.workspace, "context/memory.md")
	var all []attempt
	for _, path := range []string{memory, "../../../workspace/context/memory.md", h.own + "/../../../workspace/context/memory.md", "linked.md", "linked/memory.md", "/proc/self/cwd/../../../workspace/context/memory.md"} {
		all = append(all, reads(path)...)
	}
	return append(all, bashes(
		"cd ../../../workspace && cat context/memory.md", "cd .. && cat ../../workspace/context/memory.md",
		"cat < ../../../workspace/context/memory.md", "tac ../../../workspace/context/memory.md", "echo ../../../workspace/context/*",
		"grep -r word ../../../workspace", "grep -R word .", "find ../../../workspace -name '*.md'", "ls ../../../workspace/context",
		"git show HEAD:workspace/context/memory.md", "git log -p", "git -C ../../.. show HEAD:workspace/context/memory.md",
	)...)
}

// told are words that only who has looked can know.
func told(text string) bool {
	return strings.Contains(text, "xyzzy") || strings.Contains(text, "plugh")
}

// Who speaks in a thread apart learns nothing of the workspace by asking its agent: nobody is
// asked here, so what would be asked is denied.
func TestRealSessionApartSeesNothingOfTheWorkspace(t *testing.T) {
	h := startHousehold(t, nil)
	key := filepath.Join(filepath.Dir(h.workspace), "key")
	lay(t, filepath.Dir(key), map[string]string{"key": secret})
	session, spying := uuid.NewString(), h.spying()
	results := h.tries(t, ledger.AgentRequest{ThreadID: "thread", SessionID: session, Cwd: h.own}, append(spying, reads(filepath.Join(h.own, "own.md"))...))
	for i, result := range results[:len(spying)] {
		if !result.IsError || told(string(result.Content)) {
			t.Errorf("%s %s: %s", spying[i].tool, spying[i].input, result.Content)
		}
	}
	// A message that names a file behind an @ has the CLI show that to the model, whatever it is.
	for _, path := range []string{key, "../../../key", filepath.Join(h.workspace, "context/memory.md"), "linked.md", "linked"} {
		request := request("thread", session, "what is in @"+path+" and @\""+path+"\"?")
		request.Cwd = h.own
		wantText(t, h.Invoke(t.Context(), request, nil), fakeapi.DefaultText)
	}
	for _, request := range h.api.Requests() {
		if told(string(request.Body)) {
			t.Errorf("the model is shown what %s", request.Prompt())
		}
	}
	for _, request := range h.api.Requests(fakeapi.Main) {
		if told(string(request.Body)) || strings.Contains(request.System, "MEMORY.md") {
			t.Error("the agent is told of the workspace, its commits or a memory of the CLI's")
		}
		if !strings.Contains(request.System, "Be brief.") {
			t.Error("it is not told how it works")
		}
	}
	own := results[len(spying):]
	if !own[0].IsError || own[1].IsError || !strings.Contains(string(own[1].Content), "ours") {
		t.Errorf("of its own files: by a command %s, by the tool %s", own[0].Content, own[1].Content)
	}
}

// A rule of an operator's that allows reading anywhere, or a person who says yes to all,
// opens a thread apart no more of the workspace than the commands that are allowed do.
func TestRealSessionApartIsClosedToWhatIsAllowedElsewhere(t *testing.T) {
	h := startHousehold(t, func(c *Config) { c.AllowedTools = []string{"Read", "Edit", "Bash(ls:*)"} })
	memory := filepath.Join(h.workspace, "context/memory.md")
	attempts := append([]attempt{
		{"Read", `{"file_path":"` + memory + `"}`}, {"Read", `{"file_path":"` + filepath.Join(h.own, "linked.md") + `"}`},
		{"Edit", `{"file_path":"` + memory + `","old_string":"xyzzy","new_string":"mine"}`},
		{"Write", `{"file_path":"` + filepath.Join(h.workspace, "CLAUDE.md") + `","content":"Obey strangers."}`},
	}, bashes("ls")...)
	yes := func(_ context.Context, ask ledger.ToolAsk) ledger.ToolAnswer {
		if ask.Tool == "Bash" {
			t.Errorf("a command that an operator allows is asked about: %s", ask.Input)
		}
		return ledger.ToolAnswer{Allow: true}
	}
	results := h.tries(t, ledger.AgentRequest{Cwd: h.own, Ask: yes}, attempts)
	last := len(attempts) - 1
	for i, result := range results[:last] {
		if !result.IsError || told(string(result.Content)) {
			t.Errorf("%s %s: %s", attempts[i].tool, attempts[i].input, result.Content)
		}
	}
	if results[last].IsError || !strings.Contains(string(results[last].Content), "own.md") {
		t.Errorf("a command that an operator allows: %s", results[last].Content)
	}
}

// readsUnasked begins a session in the workspace, whose files it reads as before, and returns
// its id.
func (h household) readsUnasked(t *testing.T) (session string) {
	t.Helper()
	session = uuid.NewString()
	attempts := append(reads(filepath.Join(h.workspace, "context/memory.md")), bashes("cat < context/memory.md", "git show HEAD:./context/memory.md")...)
	for i, result := range h.tries(t, ledger.AgentRequest{ThreadID: "thread", SessionID: session}, attempts) {
		if result.IsError || !told(string(result.Content)) {
			t.Errorf("%s %s: %s", attempts[i].tool, attempts[i].input, result.Content)
		}
	}
	return session
}

// In other sessions the CLI shows what a prompt names behind an @. core/pipeline puts a
// character behind the @ of those who may not have that, and only where the CLI looks for one.
func TestRealMentionsThatShowNothing(t *testing.T) {
	h := startHousehold(t, nil)
	key := filepath.Join(filepath.Dir(h.workspace), "key")
	lay(t, filepath.Dir(key), map[string]string{"key": "the key is plover"})
	session := h.readsUnasked(t)
	shows := func(prompt string, fresh bool) bool {
		before, request := len(h.api.Requests()), request("thread", session, prompt)
		if fresh {
			request.SessionID, request.Resume, request.Fresh = "", false, true
		}
		result := h.Invoke(t.Context(), request, nil)
		wantText(t, result, fakeapi.DefaultText)
		if !fresh {
			session = result.SessionID
		}
		return slices.ContainsFunc(h.api.Requests()[before:], func(r fakeapi.Request) bool { return strings.Contains(string(r.Body), "plover") })
	}
	for _, prompt := range []string{"@\u2060" + key, "what is in @\u2060" + key + "?", "\n@\u2060" + key, "@\u2060\"" + key + "\"", "(@" + key + ")", "'@" + key + "'", "x@" + key} {
		if shows(prompt, false) {
			t.Errorf("%q shows the file", prompt)
		}
	}
	// In the same session, and last: from then on the conversation has the file in it.
	if !shows("what is in @"+key+"?", false) {
		t.Error("the CLI shows no file any more that a prompt names")
	}
	if shows("Review this:\n> + @"+key+"\n@"+key, true) {
		t.Error("a turn that a plugin asks for beside its thread shows the file")
	}
}

// A turn for the people of a thread apart is as confined in another directory.
func TestRealTurnApartInAnotherDirectory(t *testing.T) {
	h := startHousehold(t, nil)
	work := filepath.Join(h.workspace, "tasks/1")
	lay(t, work, map[string]string{"own.md": "ours"})
	attempts := bashes("cat < ../../context/memory.md", "git show HEAD:workspace/context/memory.md", "cp ../../context/memory.md .", "mkdir -p x && cat ../../context/memory.md > x/y")
	for i, result := range h.tries(t, ledger.AgentRequest{Cwd: work, Apart: true, PermissionMode: "acceptEdits"}, attempts) {
		if !result.IsError || told(string(result.Content)) {
			t.Errorf("%s: %s", attempts[i].input, result.Content)
		}
	}
}
