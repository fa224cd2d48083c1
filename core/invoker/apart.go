package invoker

import (
	"encoding/json"
	"slices"
	"strings"
)

// A session in the directory of a thread apart works for people who are not to know what
// the workspace holds. That its working directory is another one is not enough. Verified
// with 2.1.197, where nothing but the directory differs and nobody is asked:
//
//   - Read and Edit outside of the directory are asked about, through links, too;
//   - of commands, those whose paths the CLI looks at are asked about (cat, grep, find,
//     ls, cd); but of what it takes for harmless it does not look at all paths, and runs
//     `cat < ../../context/memory.md` and `tac ../../context/memory.md`;
//   - in a git repository, the directories above included, it runs `git show
//     HEAD:context/memory.md`, and its system prompt has the latest commits;
//   - it puts any file before the model that a message names behind an @;
//   - it keeps a memory of its own below its configuration, of a repository in one place.
//
// So in such a session every command is asked about that no rule of an operator's allows;
// the workspace can neither be read nor written, whoever would allow it; and the CLI attaches
// nothing. (What is steered in arrives all the same; a memory of its own no session keeps.)

// askedRules are the rules that ask, of a session. A rule that asks wins over what the CLI
// takes for harmless, and over rules that allow. About sub-agents it is the invoker that
// answers (subagents.go), and so it is about the tools of plugins, as ToolAsked says: the
// core's notify reaches people anywhere, and from a session apart each tool leads out of it.
func (c Config) askedRules(apart bool) []string {
	rules := []string{"Agent"}
	if apart {
		rules = append(rules, "Bash")
	}
	switch {
	case c.Tools == nil || c.ToolAsked == nil:
	case apart:
		rules = append(rules, toolRule)
	default:
		rules = append(rules, toolPrefix+notifyTool)
	}
	return rules
}

// notifyTool is the core's tool that tells people elsewhere something.
const notifyTool = "core__notify"

// asksAbout reports whether people are asked about a call of a plugin's tool that no rule of
// an operator's allows.
func (s *session) asksAbout(request controlRequest) bool {
	tool, ours := strings.CutPrefix(request.Request.ToolName, toolPrefix)
	return ours && s.toolAsked != nil && (s.apart || tool == notifyTool) && s.toolAsked(s.threadID, s.apart, tool, request.Request.Input)
}

// operators returns the rules without the one that allows all tools of plugins, which the
// invoker adds.
func operators(rules []string) []string {
	at := slices.Index(rules, toolRule) // where an operator has given it, too, there is another
	if at < 0 {
		return rules
	}
	return slices.Concat(rules[:at], rules[at+1:])
}

// apartEnvironment is added to that of a session apart.
var apartEnvironment = []string{
	withoutMentions, withoutGit,
}

// withoutMentions has the CLI show no file that a prompt names behind an @.
const withoutMentions = "CLAUDE_CODE_DISABLE_ATTACHMENTS=1"

// withoutGit has the CLI run no git of its own, for what it says of the repository.
const withoutGit = "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS=1"

// apartRules are what a session apart may not do, whatever else allows it.
func (c Config) apartRules() []string {
	if !rulePath(c.Workspace) {
		return nil // what is not allowed is asked about, as everywhere
	}
	return []string{"Read(/" + c.Workspace + "/**)", "Edit(/" + c.Workspace + "/**)"}
}

// withAsked returns the settings with rules that ask.
func withAsked(settings json.RawMessage, asked []string) (json.RawMessage, error) {
	rules, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	var whole settingsObject
	if err := json.Unmarshal(settings, &whole); err != nil {
		return nil, err
	}
	err = whole.take(whole, "permissions", func(permissions settingsObject) { permissions["ask"] = rules })
	if err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

// manualApart is the workspace's manual for a session apart: how the agent works is the same
// everywhere. What it imports is left out, which may be memory.
func (c Config) manualApart(cwd string) (string, error) {
	manual, err := readManual(c.Workspace, 0)
	return manual + "You work in " + cwd + ", apart from " + c.Workspace + ", because others speak here than the person whose agent you are: " +
		"what lies there, memory included, can neither be read nor written from here.\n\n", err
}
