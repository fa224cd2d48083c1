package pluginsdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	pluginName   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	commandName  = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
	toolName     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

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

	if !pluginName.MatchString(m.Name) {
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
// of the contract: hooks, failure modes and parts that it does not know, and parts that
// a hook always has. A daemon leaves them alone; an author may have written the wrong
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
		case !pluginName.MatchString(source):
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
		if command.Name != "*" && !commandName.MatchString(command.Name) {
			fault("command %q: want *, or a lower case letter, then lower case letters, digits, _ and -, without the slash", command.Name)
		}
		if seen[command.Name] {
			fault("command %q is declared twice", command.Name)
		}
		seen[command.Name] = true
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
		if !toolName.MatchString(tool.Name) || strings.Contains(tool.Name, "__") {
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
		if !variableName.MatchString(request.Name) || strings.TrimSpace(request.Reason) == "" {
			fault("environment variable %q: want a name and a reason, which the operator reads", request.Name)
		}
	}
}

func isJSONObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}
