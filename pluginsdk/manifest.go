package pluginsdk

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

var (
	pluginName   = form{first: lower, rest: lower + digits + "-", most: 32}
	commandName  = form{first: lower, rest: lower + digits + "_-", most: 32}
	toolName     = form{first: lower + upper, rest: lower + upper + digits + "_-", most: 64}
	variableName = form{first: lower + upper + "_", rest: lower + upper + digits + "_", most: math.MaxInt}
)

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

// form is what names look like: characters of rest after one of first, so many in all at
// most. Regular expressions with such counts take 120 KB in each process.
type form struct {
	first, rest string
	most        int
}

// fits reports whether a name has the form.
func (f form) fits(name string) bool {
	return name != "" && len(name) <= f.most && strings.Contains(f.first, name[:1]) && strings.Trim(name[1:], f.rest) == ""
}

// coresNames are those that the core has in events, as the source of messages, or
// in tools. A plugin of such a name could speak as the core.
var coresNames = []string{
	"agent", "approval", "assistant", "budget", "builtin", "chat", "claude", "cli", "core", "daemon", "delivery", "event", "file",
	"harness", "mcp", "message", "operator", "pipeline", "plugin", "plugins", "resync", "retry", "run", "search", "session",
	"system", "task", "thread", "turn", "usage", "user",
}

// Check reports everything that is wrong with the manifest as one
// CodeInvalid error, a sentence a fault. What this version of the contract does
// not know is no fault, because a later one may: see Unheeded.
func (m Manifest) Check() error {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }

	if !pluginName.fits(m.Name) {
		fault("name %q: want a lower case letter, then at most 31 lower case letters, digits and hyphens", m.Name)
	}
	if slices.Contains(coresNames, m.Name) {
		fault("name %q: the core speaks under that name: give the plugin another one", m.Name)
	}
	if strings.TrimSpace(m.Version) == "" || strings.ContainsAny(m.Version, " \t\n") {
		fault("version %q: want a version without spaces, such as 1.0.0", m.Version)
	}
	m.checkOnFailure(fault)
	m.checkNeeds(fault)
	m.checkSources(fault)
	m.checkCommands(fault)
	m.checkTools(fault)
	m.checkEvents(fault)
	m.checkRequests(fault)
	if len(m.SettingsSchema) > 0 && !isJSONObject(m.SettingsSchema) {
		fault("settingsSchema: want a JSON object, a JSON Schema")
	}
	if len(faults) == 0 {
		return nil
	}
	return Errorf(CodeInvalid, "manifest of plugin %q: %s", m.Name, strings.Join(faults, "; "))
}

func (m Manifest) checkOnFailure(fault func(string, ...any)) {
	for _, hook := range slices.Sorted(maps.Keys(m.OnFailure)) {
		if !m.Answers(hook) {
			fault("onFailure names %s, which the plugin does not answer", hook)
		}
	}
}

func (m Manifest) checkNeeds(fault func(string, ...any)) {
	for _, hook := range slices.Sorted(maps.Keys(m.Needs)) {
		if !m.Answers(hook) {
			fault("needs names %s, which the plugin does not answer", hook)
		}
	}
}

// Unheeded says, a sentence each, what of the manifest has no effect in this version
// of the contract: hooks, failure modes, parts, types of options and kinds in the rules of
// events that it does not know, and parts that a hook always has. A daemon leaves them alone; an author may have written the wrong
// name.
func (m Manifest) Unheeded() (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for _, hook := range m.Hooks {
		if _, known := hook.Spec(); !known {
			note("%s is not a hook that this version of Harness knows", hook)
		}
	}
	for _, hook := range slices.Sorted(maps.Keys(m.OnFailure)) {
		if mode := m.OnFailure[hook]; !mode.known() {
			note("onFailure of %s is %q: this version of Harness knows %q and %q, and uses the hook's default", hook, mode, FailOpen, FailClosed)
		}
	}
	for _, hook := range slices.Sorted(maps.Keys(m.Needs)) {
		spec, known := hook.Spec()
		for _, part := range m.Needs[hook] {
			if known && !slices.Contains(spec.Parts, part) {
				note("needs asks for the part %q of %s, of which this version of Harness leaves out %s", part, hook, partNames(spec.Parts))
			}
		}
	}
	for _, command := range m.Commands {
		for _, option := range command.Options {
			if !option.Type.known() {
				note("option %q of the command %q is of the type %q, which this version of Harness does not know, and takes as %q", option.Name, command.Name, option.Type, OptionText)
			}
		}
	}
	for n, rule := range m.EventRules {
		for _, kind := range rule.ThreadKinds {
			if !kind.known() {
				note("eventRules[%d] names the kind of thread %q, which this version of Harness does not know", n, kind)
			}
		}
		for _, kind := range rule.RunKinds {
			if !kind.known() {
				note("eventRules[%d] names the kind of run %q, which this version of Harness does not know", n, kind)
			}
		}
	}
	return notes
}

func partNames(parts []Part) string {
	if len(parts) == 0 {
		return "nothing"
	}
	names := make([]string, len(parts))
	for i, part := range parts {
		names[i] = string(part)
	}
	return strings.Join(names, ", ")
}

func (m Manifest) checkSources(fault func(string, ...any)) {
	for i, source := range m.Sources {
		switch {
		case !pluginName.fits(source):
			fault("source %q: want a lower case letter, then at most 31 lower case letters, digits and hyphens", source)
		case source != "cli" && slices.Contains(coresNames, source):
			fault("source %q: the core speaks under that name", source)
		case slices.Contains(m.Sources[:i], source):
			fault("source %q is named twice", source)
		}
	}
}

func (m Manifest) checkCommands(fault func(string, ...any)) {
	switch answers := m.Answers(HookCommand); {
	case answers && len(m.Commands) == 0:
		fault("the plugin answers %s but declares no commands", HookCommand)
	case !answers && len(m.Commands) > 0:
		fault("commands are declared but the plugin does not answer %s", HookCommand)
	}
	seen := map[string]bool{}
	for _, command := range m.Commands {
		if command.Name != "*" && !commandName.fits(command.Name) {
			fault("command %q: want *, or a lower case letter, then lower case letters, digits, _ and -, without the slash", command.Name)
		}
		if seen[command.Name] {
			fault("command %q is declared twice", command.Name)
		}
		seen[command.Name] = true
		if command.Scope != "" && !command.Scope.Has(command.Scope) {
			fault("command %q: scope %q: want read, chat, approve, work or admin", command.Name, command.Scope)
		}
		if command.Beside && command.Name == "*" {
			fault("command *: beside is not for all names: name the commands that concern no conversation")
		}
		command.checkOptions(fault)
	}
}

// checkOptions refuses options that no surface could offer. A type that this version does
// not know is none: see Unheeded.
func (c CommandSpec) checkOptions(fault func(string, ...any)) {
	seen := map[string]bool{}
	for _, option := range c.Options {
		switch {
		case !commandName.fits(option.Name):
			fault("command %q: option %q: want a lower case letter, then at most 31 lower case letters, digits, _ and -", c.Name, option.Name)
		case seen[option.Name]:
			fault("command %q: option %q is declared twice", c.Name, option.Name)
		case option.Type == "":
			fault("command %q: option %q: it has no type; %q takes anything", c.Name, option.Name, OptionText)
		case option.Type == OptionChoice && len(option.Choices) == 0:
			fault("command %q: option %q is a choice of nothing: it needs choices", c.Name, option.Name)
		case slices.Contains(option.Choices, ""):
			fault("command %q: option %q: an empty choice cannot be written", c.Name, option.Name)
		}
		seen[option.Name] = true
	}
}

func (m Manifest) checkTools(fault func(string, ...any)) {
	switch answers := m.Answers(HookCallTool); {
	case answers && len(m.Tools) == 0:
		fault("the plugin answers %s but declares no tools", HookCallTool)
	case !answers && len(m.Tools) > 0:
		fault("tools are declared but the plugin does not answer %s", HookCallTool)
	}
	seen := map[string]bool{}
	for _, tool := range m.Tools {
		if !toolName.fits(tool.Name) || strings.Contains(tool.Name, "__") {
			fault("tool %q: want a letter, then letters, digits, - and single _", tool.Name)
		}
		if seen[tool.Name] {
			fault("tool %q is declared twice", tool.Name)
		}
		seen[tool.Name] = true
		if !isJSONObject(tool.InputSchema) {
			fault("tool %q: inputSchema: want a JSON object, a JSON Schema", tool.Name)
		}
	}
}

func (m Manifest) checkEvents(fault func(string, ...any)) {
	if len(m.Events) > 0 && !m.Answers(HookBroadcast) {
		fault("events are declared but the plugin does not answer %s", HookBroadcast)
	}
	for _, pattern := range m.Events {
		if pattern == "" || strings.Contains(strings.TrimSuffix(pattern, "*"), "*") {
			fault("event %q: want an event type, with * only at its end", pattern)
		}
	}
	if m.PromptPrefix && !m.Answers(HookBeforeInvoke) {
		fault("promptPrefix is declared but the plugin does not answer %s", HookBeforeInvoke)
	}
	if len(m.EventRules) > 0 && !m.Answers(HookBroadcast) {
		fault("eventRules are declared but the plugin does not answer %s", HookBroadcast)
	}
	if err := CheckEventRules(m.EventRules); err != nil {
		fault("eventRules: %s", err)
	}
}

// The bounds of the rules by which a process is told events.
const (
	maxEventRules = 64
	maxRuleNames  = 1000 // ids of threads in all rules, and types in all rules
	maxRuleWord   = 256  // bytes of a type, a kind or the id of a thread
)

// CheckEventRules returns what is wrong with rules, of a manifest or of Events.Listen
// (CodeInvalid). Kinds that this version of the contract does not know are no fault.
func CheckEventRules(rules []EventRule) error {
	if len(rules) > maxEventRules {
		return Errorf(CodeInvalid, "rules: at most %d, these are %d", maxEventRules, len(rules))
	}
	types, threads := 0, 0
	for n, rule := range rules {
		for _, pattern := range rule.Types {
			if pattern == "" || strings.Contains(strings.TrimSuffix(pattern, "*"), "*") {
				return Errorf(CodeInvalid, "rules[%d]: type %q: want an event type, with * only at its end", n, pattern)
			}
		}
		for _, list := range []struct {
			field string
			words []string
		}{
			{"types", rule.Types}, {"threads", rule.Threads}, {"threadKinds", wordsOf(rule.ThreadKinds)}, {"runKinds", wordsOf(rule.RunKinds)},
		} {
			for _, word := range list.words {
				if word == "" || len(word) > maxRuleWord {
					return Errorf(CodeInvalid, "rules[%d]: %s: 1 to %d bytes each, one has %d", n, list.field, maxRuleWord, len(word))
				}
			}
			if len(list.words) > maxRuleNames {
				return Errorf(CodeInvalid, "rules[%d]: %s: at most %d, these are %d", n, list.field, maxRuleNames, len(list.words))
			}
		}
		types, threads = types+len(rule.Types), threads+len(rule.Threads)
	}
	switch {
	case types > maxRuleNames:
		return Errorf(CodeInvalid, "types: at most %d in all rules, these are %d", maxRuleNames, types)
	case threads > maxRuleNames:
		return Errorf(CodeInvalid, "threads: at most %d in all rules, these are %d", maxRuleNames, threads)
	}
	return nil
}

func wordsOf[T ~string](names []T) []string {
	words := make([]string, len(names))
	for n, name := range names {
		words[n] = string(name)
	}
	return words
}

func (m Manifest) checkRequests(fault func(string, ...any)) {
	for i, request := range m.Capabilities {
		if request.Capability == "" || strings.TrimSpace(request.Reason) == "" {
			fault("capability %q: want a name and a reason, which the operator reads", request.Capability)
		}
		if slices.ContainsFunc(m.Capabilities[:i], func(c CapabilityRequest) bool { return c.Capability == request.Capability }) {
			fault("capability %q is asked for twice", request.Capability)
		}
	}
	for _, request := range m.Environment {
		if !variableName.fits(request.Name) || strings.TrimSpace(request.Reason) == "" {
			fault("environment variable %q: want a name and a reason, which the operator reads", request.Name)
		}
	}
}

func isJSONObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// Differences names the fields, as in JSON, in which two manifests differ. How
// a schema is written and in which order hooks are given makes no difference.
func (m Manifest) Differences(other Manifest) (names []string) {
	a, b := m.fields(), other.fields()
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !reflect.DeepEqual(a[name], b[name]) {
			names = append(names, name)
		}
	}
	return names
}

// fields is the manifest as JSON has it; nil when it cannot be written as JSON.
func (m Manifest) fields() map[string]any {
	m.Hooks = slices.Sorted(slices.Values(m.Hooks))
	raw, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil
	}
	return fields
}

var typedCommand = regexp.MustCompile(`^/([a-z][a-z0-9_-]*)(?:\s+([\s\S]*))?$`)

// ParseCommand reads a message that is a command a person typed: a slash, a
// name, and what follows it. A path such as /etc/hosts is not one.
func ParseCommand(content string) (name, body string, ok bool) {
	match := typedCommand.FindStringSubmatch(strings.TrimSpace(content))
	if match == nil {
		return "", "", false
	}
	return match[1], strings.TrimSpace(match[2]), true
}

// ToolSpec describes a tool to the agent, which sees it as PLUGIN__NAME.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"` // JSON Schema of an object
}

// CallToolRequest is one call of a tool.
type CallToolRequest struct {
	Call     Call
	Name     string // without the plugin's name
	Input    json.RawMessage
	ThreadID string
	TaskID   string
}

// CallToolResponse is what the agent is told.
type CallToolResponse struct {
	Result ToolResult
}

// ToolResult is what a tool says. A failure of the tool's own work is a result
// with IsError; an error returned by CallTool is a fault of the plugin.
type ToolResult struct {
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
}

// ToolProvider is implemented by plugins that offer tools. The tools
// themselves are declared in Manifest.Tools. A call may report progress
// (ReportProgress).
type ToolProvider interface {
	CallTool(ctx context.Context, request *CallToolRequest) (*CallToolResponse, error)
}
