package agentcheck

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var doctorings = []doctoring{
	{
		name: "it does not stream words", breaks: map[string]string{"starts and answers": "is not streamed"},
		out: func(_ *doctored, line object) object {
			if part(line, "event", "delta")["type"] == "text_delta" {
				return nil
			}
			return line
		},
	},
	{
		name: "it chooses its session ids", breaks: map[string]string{"the session id is the one that Harness chose": "instead of the chosen"},
		args: without("--session-id="),
	},
	{
		name: "its costs are doubled", batch: 1, breaks: map[string]string{"a turn costs what the API bills": "is counted as", "a cost cap stops a turn": ""},
		out: dearer(func(args []string) bool { return !resumed(args) }),
	},
	{
		name: "its costs are doubled once it is resumed", breaks: map[string]string{"a resumed turn is charged once": "is counted as"},
		out: dearer(resumed),
	},
	{
		name: "it does not say what calls cost", breaks: map[string]string{"a cost cap stops a turn": ""},
		out: func(_ *doctored, line object) object {
			for _, usage := range []object{part(line, "event", "message", "usage"), part(line, "event", "usage")} {
				clear(usage)
			}
			return line
		},
	},
	{
		name: "it does not stop", batch: 2, breaks: map[string]string{"a cost cap stops a turn": "", "stop ends the turn and keeps the process": "did not stop when asked", "a message sent during a turn can be withdrawn": "cannot be withdrawn"},
		in: func(_ *doctored, line object) object {
			if part(line, "request")["subtype"] == "interrupt" {
				return nil
			}
			return line
		},
	},
	{
		name: "it loses steered words", breaks: map[string]string{"a message sent during a turn reaches it": "is not in the next call"},
		in: func(d *doctored, line object) object {
			if line["type"] != "user" || line["uuid"] == nil || strings.Contains(string(encode(line)), "TAKEN-BACK") {
				return line
			}
			d.reply(object{"type": "user", "message": line["message"], "uuid": line["uuid"], "isReplay": true})
			return nil
		},
	},
	{
		name: "it takes nothing back", breaks: map[string]string{"a message sent during a turn can be withdrawn": "cannot be withdrawn"},
		in: func(_ *doctored, line object) object {
			if part(line, "request")["subtype"] == "cancel_async_message" {
				return nil
			}
			return line
		},
	},
	{
		name: "it does not wait for answers", breaks: map[string]string{"a permission request waits for its answer": "goes on while it waits"},
		out: func(d *doctored, line object) object {
			if asks(line, "Bash") && strings.HasSuffix(text(part(line, "request", "input")["command"]), "/asked") {
				d.answer(line, object{"behavior": "deny", "message": "no"})
			}
			return line
		},
		in: func(d *doctored, line object) object {
			return line
		},
	},
	{
		name: "it runs calls as they were asked", breaks: map[string]string{"an allowed call runs": "runs as the model wrote it"},
		in: func(d *doctored, line object) object {
			d.mu.Lock()
			defer d.mu.Unlock()
			answer := part(line, "response", "response")
			if request, ok := d.asked[text(part(line, "response")["request_id"])]; ok && answer["behavior"] == "allow" && request["tool_name"] == "Bash" {
				answer["updatedInput"] = request["input"]
			}
			return line
		},
	},
	{
		name: "it keeps the words of a denial to itself", breaks: map[string]string{"a denial reaches the agent with the reason": "does not see the words"},
		in: func(_ *doctored, line object) object {
			if answer := part(line, "response", "response"); answer["behavior"] == "deny" {
				answer["message"] = "no"
			}
			return line
		},
	},
	{
		name:   "it forgets a rule that allows",
		breaks: map[string]string{"an allowed tool is not asked about": "does not run", "the CLI lists the permissions of a session": "lists other permissions"},
		args:   without("--allowedTools=Bash(mkdir:*)"),
		out: func(d *doctored, line object) object {
			if asks(line, "Bash") && strings.HasPrefix(text(part(line, "request", "input")["command"]), "mkdir ") {
				d.answer(line, object{"behavior": "deny", "message": "no"})
				return nil
			}
			return line
		},
	},
	{
		name: "it forgets the rules that deny", breaks: map[string]string{"a denied tool is denied": "a denied file is read", "the CLI lists the permissions of a session": "lists other permissions"},
		args: func(args []string) []string {
			return slices.DeleteFunc(args, func(arg string) bool {
				return arg == "--disallowedTools=WebSearch" || strings.HasPrefix(arg, "--disallowedTools=Read(") && strings.HasSuffix(arg, "/denied/**)")
			})
		},
	},
	{
		name: "it does not say why it asks", breaks: map[string]string{"files that grant permissions are always asked about": "is enough"},
		out: func(_ *doctored, line object) object {
			delete(part(line, "request"), "decision_reason_type")
			return line
		},
	},
	{
		name: "it offers tasks of its own", breaks: map[string]string{"the CLI's own schedules and tasks are not offered": "TaskCreate is offered", "the CLI lists the permissions of a session": "lists other permissions"},
		args: without("--disallowedTools=TaskCreate"),
	},
	{
		name: "it shows no pictures", breaks: map[string]string{"an image in a message reaches the model": "does not see"},
		in: func(_ *doctored, line object) object {
			if blocks, ok := part(line, "message")["content"].([]any); ok {
				part(line, "message")["content"] = slices.DeleteFunc(blocks, func(b any) bool { return b.(object)["type"] == "image" })
			}
			return line
		},
	},
	{
		name: "it takes a refusal for an answer", breaks: map[string]string{"a refusal of the model is reported": "is taken for an answer"},
		out: func(_ *doctored, line object) object {
			if line["type"] == "result" && line["subtype"] == "success" && line["is_error"] == true && line["api_error_status"] == nil {
				line["is_error"] = false
			}
			return line
		},
	},
	{
		name: "it takes an error for an answer", breaks: map[string]string{"an API error is reported": "is taken for an answer"},
		out: func(_ *doctored, line object) object {
			if line["type"] == "result" && line["api_error_status"] == 529.0 {
				line["is_error"] = false
			}
			return line
		},
	},
	{
		name: "it works in the background", batch: 2, breaks: map[string]string{"commands end with their turn": "in the background"}, newest: map[string]string{"sub-agents end with their turn": "in the background"},
		env: withoutVariable("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"),
	},
	{
		name: "its sub-agents say nothing", breaks: map[string]string{"sub-agents end with their turn": "in the background"},
		out: func(_ *doctored, line object) object {
			if line["type"] == "user" && strings.Contains(string(encode(line)), "SUB-ANSWER") {
				blocks, _ := part(line, "message")["content"].([]any)
				for _, block := range blocks {
					block.(object)["content"] = "it goes on in the background"
				}
			}
			return line
		},
	},
	{
		name: "it keeps a memory", breaks: map[string]string{"the CLI keeps no memory of its own": "a memory of its own"},
		env:  withoutVariable("CLAUDE_CODE_DISABLE_AUTO_MEMORY"),
		args: withSettings(func(settings object) { delete(settings, "autoMemoryEnabled") }),
	},
	{
		name: "it takes what others say", since: anotherCLI, breaks: map[string]string{"no other process can write into a session": "another process writes"},
		args: withSettings(func(settings object) { delete(settings, "crossSessionInbound") }),
	},
	{
		name: "it starts sub-agents unasked", breaks: map[string]string{"sub-agents above the limit are asked about": "0 were asked about"},
		args: withSettings(func(settings object) { delete(part(settings, "permissions"), "ask") }),
	},
	{
		name: "it cannot resume", batch: 1, breaks: map[string]string{"resumes after a clean end": "forgotten", "resumes after kill -9": "", "an existing session is resumed": "", "an unknown session is reported": ""},
		args: func(args []string) []string {
			for n, arg := range args {
				if strings.HasPrefix(arg, "--resume=") {
					args[n] = "--no-session-persistence"
				}
			}
			return args
		},
	},
	{
		name: "it loses what it has not written at a kill", breaks: map[string]string{"resumes after kill -9": ""},
		out: func(d *doctored, line object) object {
			if line["type"] == "result" && line["result"] == "third-word" {
				_ = d.process.Kill()
				kept, _ := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".claude/projects/*", text(line["session_id"])+".jsonl"))
				for _, file := range kept {
					_ = os.Remove(file)
				}
			}
			return line
		},
	},
	{
		name: "it does not say that a session is not there", breaks: map[string]string{"an unknown session is reported": ""},
		out: func(_ *doctored, line object) object {
			if line["type"] == "result" && strings.Contains(string(encode(line)), "No conversation found") {
				line["errors"], line["result"] = []any{}, "something is wrong"
			}
			return line
		},
		stderr: func(said string) string {
			return strings.ReplaceAll(said, "No conversation found", "Something is wrong")
		},
	},
	{
		name: "it does not say that a session is there", breaks: map[string]string{"an existing session is resumed": ""},
		stderr: func(said string) string { return strings.ReplaceAll(said, "already in use", "not to be had") },
	},
	{
		name: "it keeps what is to be forgotten", breaks: map[string]string{"a fresh session leaves no transcript": "leaves its transcript"},
		args: without("--no-session-persistence"),
	},
	{
		name: "it keeps its plans to itself", breaks: map[string]string{"a plan reaches the person whole": "asked about a plan 0 times"},
		out: func(_ *doctored, line object) object {
			if asks(line, "ExitPlanMode") {
				delete(part(line, "request", "input"), "plan")
			}
			blocks, _ := part(line, "message")["content"].([]any)
			for _, block := range blocks {
				if called, ok := block.(object); ok && called["name"] == "ExitPlanMode" {
					delete(part(called, "input"), "plan")
				}
			}
			return line
		},
	},
	{
		name: "it keeps its mode", breaks: map[string]string{"plan mode is restored after an accepted plan": "are not in plan mode"},
		in: func(_ *doctored, line object) object {
			if part(line, "request")["subtype"] == "set_permission_mode" {
				return nil
			}
			return line
		},
	},
	{
		name:   "it hides tools of others",
		breaks: map[string]string{"plugin tools are offered at once": "", "many plugin tools are found by search": "cannot be found"},
		args: withServer(func(tools []any) []any {
			return slices.DeleteFunc(tools, func(tool any) bool {
				return slices.Contains([]any{"time__now", "many__tool_077"}, tool.(object)["name"])
			})
		}),
	},
	{
		name: "it keeps the first list of tools", batch: 1, breaks: map[string]string{"plugin tools change in a warm session": ""},
		args: withServer(func() func(tools []any) []any {
			var first []any
			return func(tools []any) []any {
				if first == nil {
					first = tools
				}
				return first
			}
		}()),
	},
	{
		name: "it knows no schemas", batch: 1, breaks: map[string]string{"a JSON schema is filled in": "a turn with a schema failed"},
		args: without("--json-schema="),
	},
	{
		name: "it says nothing of a bad schema", breaks: map[string]string{"a bad JSON schema is refused with the reason": ""},
		out: func(_ *doctored, line object) object {
			if tools, ok := line["tools"].([]any); ok && line["subtype"] == "init" {
				line["tools"] = append(tools, "StructuredOutput")
			}
			return line
		},
		stderr: func(string) string { return "" },
	},
	{
		name: "it says nothing of the plan", breaks: map[string]string{"plan usage is reported": "is reported as", "a used-up plan says when it resets": "looks like another failure"},
		out: func(_ *doctored, line object) object {
			if line["type"] == "rate_limit_event" {
				return nil
			}
			return line
		},
	},
	{
		name: "it has no manual", batch: 1, breaks: map[string]string{"CLAUDE.md is in the prompt": "is not in the prompt", "an edited CLAUDE.md holds with the next turn": "does not see"},
		args: without("--append-system-prompt"),
	},
	{
		name: "it keeps the first manual", breaks: map[string]string{"an edited CLAUDE.md holds with the next turn": "does not see"},
		args: withFile("--append-system-prompt-file", func(content string) string {
			return strings.NewReplacer("SECOND-MANUAL", "FIRST-MANUAL", "THIRD-MANUAL", "FIRST-MANUAL").Replace(content)
		}),
	},
	{
		name: "it reads everybody's settings and runs their servers", batch: 2,
		breaks: map[string]string{"files that the agent can write grant no permissions": "grant permissions…rule…server-of-the-home…mcp-server"},
		args:   without("--setting-sources=", "--strict-mcp-config"),
	},
	{
		name: "it lets strangers read", breaks: map[string]string{"a thread apart cannot read the workspace": "reads the workspace"},
		args: func(args []string) []string {
			return slices.DeleteFunc(args, func(arg string) bool {
				return strings.HasPrefix(arg, "--disallowedTools=Read(") && strings.HasSuffix(arg, "/w/**)")
			})
		},
	},
	{
		// Newer ones refuse by themselves what reads a file that is denied.
		name: "it lets strangers run commands", batch: 1, until: "2.1.223", breaks: map[string]string{"a thread apart cannot read the workspace": "reads the workspace"},
		args: withSettings(func(settings object) { delete(part(settings, "permissions"), "ask") }),
	},
	{
		name: "it does not name a rule", since: anotherCLI, breaks: map[string]string{"the CLI lists the permissions of a session": "lists other permissions"},
		out: func(_ *doctored, line object) object {
			state := part(line, "response", "response", "state")
			if rules, ok := state["rules"].([]any); ok {
				state["rules"] = slices.DeleteFunc(rules, func(rule any) bool { return rule.(object)["rule"] == "WebSearch" })
			}
			return line
		},
	},
}

var each = flag.Bool("doctored.each", false, "one doctored CLI for each doctoring, and every line of the suite with each; else a CLI for each batch")

// A line of the suite that stays green when what it looks at is spoiled is no check, and one
// that turns red for something else sends people to the wrong place.
func TestDoctoredCLIs(t *testing.T) {
	binary := needCLI(t, "HARNESS_TEST_CLAUDE")
	version := versionOf(t, binary)
	batches := map[int][]doctoring{}
	for _, d := range doctorings {
		switch {
		case d.since != "" && older(version, d.since) || d.until != "" && older(d.until, version):
		case *each:
			t.Run(d.name, func(t *testing.T) { doctoredCLI(t, binary, version, d) })
		default:
			batches[d.batch] = append(batches[d.batch], d)
		}
	}
	for number, batch := range batches {
		t.Run(fmt.Sprintf("batch %d", number), func(t *testing.T) { doctoredCLI(t, binary, version, batch...) })
	}
}

// doctoredCLI looks at a CLI that has been doctored in some ways. It looks at all lines with the
// first batch, or if each is wanted, else at those that are to break.
func doctoredCLI(t *testing.T, binary, version string, spoils ...doctoring) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	red := map[string]string{}
	var names []string
	for _, d := range spoils {
		names = append(names, d.name)
		maps.Copy(red, d.breaks)
		if !older(version, anotherCLI) {
			maps.Copy(red, d.newest)
		}
	}
	config := Config{Binary: self, Env: []string{doctoredBy + "=" + strings.Join(names, "|"), realCLI + "=" + binary, "GORACE=atexit_sleep_ms=0"}}
	if spoils[0].batch > 0 && !*each {
		config.Only = slices.Collect(maps.Keys(red))
	}
	report, err := Run(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range report.Lines {
		words, spoiled := red[l.Name]
		said := true
		for part := range strings.SplitSeq(words, "…") {
			said = said && strings.Contains(l.Words, part)
		}
		if spoiled != (l.State == Broken) || spoiled && !said {
			t.Errorf("%q is %s: %q, want broken: %t, with %q", l.Name, l.State, l.Words, spoiled, words)
		}
		delete(red, l.Name)
	}
	for name := range red {
		t.Errorf("%q was not looked at", name)
	}
}

// Every line can turn red.
func TestEveryLineHasADoctoring(t *testing.T) {
	names := Names()
	broken := map[string]bool{}
	for _, d := range doctorings {
		for _, reds := range []map[string]string{d.breaks, d.newest} {
			for name := range reds {
				broken[name] = true
				if !slices.Contains(names, name) {
					t.Errorf("%s: there is no line %q", d.name, name)
				}
			}
		}
	}
	for n, name := range names {
		if !broken[name] {
			t.Errorf("no doctoring breaks the line %q", name)
		}
		if slices.Contains(names[:n], name) {
			t.Errorf("there are two lines %q", name)
		}
	}
}
