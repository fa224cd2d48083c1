package invoker

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// ruleShape is what a permission rule may look like: a tool's name, possibly
// ending in *, and possibly a specifier in parentheses.
var ruleShape = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*\*?(\([^\n]*\))?$`)

// checkRules returns an error that names the first rule that is none.
func checkRules(rules []string) error {
	for _, rule := range rules {
		if !ruleShape.MatchString(rule) {
			return fmt.Errorf("%q is not a permission rule; want Name, mcp__server__* or Name(specifier)", rule)
		}
	}
	return nil
}

// allowedBy reports whether a rule allows a use of a tool. The CLI gets the
// same rules and asks only for what they do not settle, so this is deliberately
// the simple part: names, prefixes of names, and prefixes of single Bash
// commands. Specifiers of other tools are the CLI's to understand.
func allowedBy(rules []string, tool string, input json.RawMessage) bool {
	for _, rule := range rules {
		if ruleAllows(rule, tool, input) {
			return true
		}
	}
	return false
}

func ruleAllows(rule, tool string, input json.RawMessage) bool {
	name, specifier, specific := strings.Cut(strings.TrimSuffix(rule, ")"), "(")
	if specific {
		return name == tool && tool == "Bash" && bashAllowed(specifier, input)
	}
	if prefix, ok := strings.CutSuffix(name, "*"); ok {
		return strings.HasPrefix(tool, prefix)
	}
	// A bare mcp__server allows all tools of that server, as in the CLI's own
	// settings.
	if strings.HasPrefix(name, "mcp__") && strings.HasPrefix(tool, name+"__") {
		return true
	}
	return name == tool
}

// shellOperators can make one command line do more than its first word says.
const shellOperators = ";&|<>`$\n\r(){}\\"

func bashAllowed(specifier string, input json.RawMessage) bool {
	var use struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal(input, &use); err != nil || use.Command == "" {
		return false
	}
	command := strings.TrimSpace(use.Command)
	if command == specifier {
		return true
	}
	prefix, ok := strings.CutSuffix(specifier, ":*")
	if !ok {
		prefix, ok = strings.CutSuffix(specifier, " *")
	}
	if !ok || strings.ContainsAny(command, shellOperators) {
		return false
	}
	return command == prefix || strings.HasPrefix(command, prefix+" ")
}

// denial is what the agent is told when a tool is not allowed.
func denial(tool string) string {
	switch tool {
	case "AskUserQuestion":
		return "Nobody is at a terminal to answer. Ask the person in your reply and end your turn; the answer comes as the next message."
	case "ExitPlanMode", "EnterPlanMode":
		return "Plans are not approved through this tool here. Write the plan in your reply and end your turn; the person answers with the next message."
	}
	return fmt.Sprintf("%s is not permitted here. Go on without it if you can; otherwise say in your reply what you need it for and ask the person to allow it.", tool)
}

// saysSafetyCheck is the CLI's reason to ask although a rule allows the tool: what
// would be written decides about what else may be done (settings of the CLI, git's
// configuration, a shell's startup files). A person is to look at each such use, and
// none is there.
const saysSafetyCheck = "safetyCheck"

// denialOfSafetyCheck is what the agent is told then. reason is the CLI's.
func denialOfSafetyCheck(reason string) string {
	return strings.TrimSpace("Files that decide about permissions are not changed from here. "+reason) +
		" Go on without it if you can; otherwise say in your reply what should be changed, and a person does it."
}
