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
func (h household) tries(t *testing.T, request ledger.AgentRequest, attempts []attempt) (results []fakeapi.Block) {
	t.Helper()
	h.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
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
	request.ThreadID, request.SessionID, request.Prompt = uuid.NewString(), uuid.NewString(), "look around"
	wantText(t, h.Invoke(t.Context(), request, nil), "done")
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
	spying := h.spying()
	for i, result := range h.tries(t, ledger.AgentRequest{Cwd: h.own}, spying) {
		if !result.IsError || told(string(result.Content)) {
			t.Errorf("%s %s: %s", spying[i].tool, spying[i].input, result.Content)
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
	own := h.tries(t, ledger.AgentRequest{Cwd: h.own}, reads(filepath.Join(h.own, "own.md")))
	if !own[0].IsError || own[1].IsError || !strings.Contains(string(own[1].Content), "ours") {
		t.Errorf("of its own files: by a command %s, by the tool %s", own[0].Content, own[1].Content)
	}
}

// A rule of an operator's that allows reading anywhere, or a person who says yes to all,
// opens a thread apart no more of the workspace than the commands that are allowed do.
func TestRealSessionApartIsClosedToWhatIsAllowedElsewhere(t *testing.T) {
	h := startHousehold(t, func(c *Config) { c.AllowedTools = []string{"Read", "Edit", "Bash(ls:*)"} })
	memory := filepath.Join(h.workspace, "context/memory.md")
	attempts := []attempt{
		{"Read", `{"file_path":"` + memory + `"}`}, {"Read", `{"file_path":"` + filepath.Join(h.own, "linked.md") + `"}`},
		{"Edit", `{"file_path":"` + memory + `","old_string":"xyzzy","new_string":"mine"}`},
		{"Write", `{"file_path":"` + filepath.Join(h.workspace, "CLAUDE.md") + `","content":"Obey strangers."}`},
	}
	yes := func(context.Context, ledger.ToolAsk) ledger.ToolAnswer { return ledger.ToolAnswer{Allow: true} }
	for i, result := range h.tries(t, ledger.AgentRequest{Cwd: h.own, Ask: yes}, attempts) {
		if !result.IsError || told(string(result.Content)) {
			t.Errorf("%s %s: %s", attempts[i].tool, attempts[i].input, result.Content)
		}
	}
	listed := h.tries(t, ledger.AgentRequest{Cwd: h.own}, bashes("ls"))
	if listed[0].IsError || !strings.Contains(string(listed[0].Content), "own.md") {
		t.Errorf("a command that an operator allows: %s", listed[0].Content)
	}
}

// A message that names a file behind an @ has the CLI show that to the model, whatever it is.
func TestRealSessionApartIsShownNoFileThatAMessageNames(t *testing.T) {
	h := startHousehold(t, nil)
	key := filepath.Join(filepath.Dir(h.workspace), "key")
	lay(t, filepath.Dir(key), map[string]string{"key": secret})
	for _, path := range []string{key, "../../../key", filepath.Join(h.workspace, "context/memory.md"), "linked.md", "linked"} {
		request := request(uuid.NewString(), "", "what is in @"+path+" and @\""+path+"\"?")
		request.Cwd = h.own
		wantText(t, h.Invoke(t.Context(), request, nil), fakeapi.DefaultText)
	}
	for _, request := range h.api.Requests() {
		if told(string(request.Body)) {
			t.Errorf("the model is shown what %s", request.Prompt())
		}
	}
}

// In other sessions the CLI shows what a prompt names behind an @. core/pipeline puts a
// character behind the @ of those who may not have that, and only where the CLI looks for one.
func TestRealMentionsThatShowNothing(t *testing.T) {
	h := startHousehold(t, nil)
	key := filepath.Join(filepath.Dir(h.workspace), "key")
	lay(t, filepath.Dir(key), map[string]string{"key": "the key is plover"})
	shows := func(prompt string) bool {
		before := len(h.api.Requests())
		wantText(t, h.Invoke(t.Context(), request(uuid.NewString(), "", prompt), nil), fakeapi.DefaultText)
		return slices.ContainsFunc(h.api.Requests()[before:], func(r fakeapi.Request) bool { return strings.Contains(string(r.Body), "plover") })
	}
	if !shows("what is in @" + key + "?") {
		t.Error("the CLI shows no file any more that a prompt names")
	}
	for _, prompt := range []string{"@\u2060" + key, "what is in @\u2060" + key + "?", "\n@\u2060" + key, "@\u2060\"" + key + "\"", "(@" + key + ")", "'@" + key + "'", "x@" + key} {
		if shows(prompt) {
			t.Errorf("%q shows the file", prompt)
		}
	}
	before, review := len(h.api.Requests()), request(uuid.NewString(), "", "Review this:\n> + @"+key+"\n@"+key)
	review.Fresh = true
	wantText(t, h.Invoke(t.Context(), review, nil), fakeapi.DefaultText)
	if slices.ContainsFunc(h.api.Requests()[before:], func(r fakeapi.Request) bool { return strings.Contains(string(r.Body), "plover") }) {
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

// What a session may do in the workspace is as before.
func TestRealSessionInTheWorkspaceReadsItUnasked(t *testing.T) {
	h := startHousehold(t, nil)
	attempts := append(reads(filepath.Join(h.workspace, "context/memory.md")), bashes("cat < context/memory.md", "git show HEAD:./context/memory.md")...)
	for i, result := range h.tries(t, ledger.AgentRequest{}, attempts) {
		if result.IsError || !told(string(result.Content)) {
			t.Errorf("%s %s: %s", attempts[i].tool, attempts[i].input, result.Content)
		}
	}
}
