package cli

import "encoding/json"

// Who speaks into a session, and what it remembers.
//
// Verified with 2.1.330, unless something else is said:
//
//   - A session opens a socket (messaging_socket_path in system/init, in $TMPDIR or /tmp,
//     cc-socks/PID.sock) and writes its path and a key into sessions/PID.json and .key of the
//     CLI's configuration directory. Any process of the user that writes a line
//     {"type":"user","message":{"role":"user","content":"..."}} to it, with or without a
//     priority, a sender, a session id or the key, begins a turn or adds to the one that runs.
//     CLAUDE_CODE_HARBOR_KITE=0 keeps the socket from being made; the name is the CLI's own and
//     in no documentation, so that crossSessionInbound, which is documented, has the session
//     refuse what comes all the same. 2.1.197 has no such socket.
//   - A session keeps a memory of its own (memory_paths.auto; in 2.1.197 as well).
//     CLAUDE_CODE_DISABLE_AUTO_MEMORY=1 ends that in both.
//   - What is left in the background would begin turns that nobody reads:
//     CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1 has commands and sub-agents run in the foreground,
//     in both; without it 2.1.330 runs sub-agents in the background.
//   - Both take settings that they do not know, and hold to the others.

// Environment is the part of a session's environment that closes doors. An operator's
// environment does not change it but where it is said.
var Environment = map[string]string{
	"CLAUDE_CODE_HARBOR_KITE":         "0", // no socket for other processes
	"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1", // one memory: that of Harness
	// People update the CLI, not its sessions: the daemon notices another binary between two
	// turns, and moves on to it then.
	"DISABLE_AUTOUPDATER": "1",
	// A session would fetch the list of plugins that can be installed.
	"CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
}

// Settings are those that every session is given, whatever the operator's own settings say.
func Settings() map[string]json.RawMessage {
	given := make(map[string]json.RawMessage, len(settings))
	for name, value := range settings {
		given[name] = json.RawMessage(value)
	}
	return given
}

var settings = map[string]string{
	inboundSetting: `"` + inboundRefused + `"`,
	// The CLI's memory, and what it does with it at night.
	"autoMemoryEnabled": "false", "autoDreamEnabled": "false",
	// Nobody takes a session over from elsewhere, and none is copied to claude.ai.
	"disableRemoteControl": "true", "remoteControlAtStartup": "false", "autoUploadSessions": "false",
	"disableAgentView": "true", // the CLI's own daemon, for sessions in the background
	// What the login has connected on claude.ai is for sessions that somebody watches.
	"disableClaudeAiConnectors": "true",
	// Hooks of plugins and of settings; those of the machine's administrator stay.
	"disableAllHooks": "true", "disableSkillShellExecution": "true",
	// AGENTS.md is Harness' to read: see readManual.
	"enabledPlugins": `{"cc-plugin-agents-md@builtin":false}`,
	// A word in a message allows nothing ("ultracode" starts a workflow with many agents).
	"workflowKeywordTriggerEnabled": "false", "modelProposedGoals": `"disabled"`,
	// Nothing is asked of the API that no turn has asked for, and nothing waits for the reset
	// of a plan but the run, which is parked.
	"idleCompaction": "false", "awaySummaryEnabled": "false", "promptSuggestionEnabled": "false", "responseComparisonEnabled": "false",
	"autoContinueAtUsageLimit": "false", "feedbackDrafts": `"off"`,
	// Verified with 2.1.197: in plan mode that is entered during a session, which the model can
	// do unasked, the CLI lets a model of its own decide about commands instead of asking.
	"useAutoModeDuringPlan": "false",
}

// Search is the variable that decides how a session is offered tools: all at once, or the
// plugins' tools, and in 2.1.330 some of the CLI's own, by a search. Verified with both
// versions: a session goes on with the other way when it is resumed.
func Search(on bool) string {
	if on {
		return "ENABLE_TOOL_SEARCH=true"
	}
	return "ENABLE_TOOL_SEARCH=false"
}

// AgentTools are the names of the tool that starts a sub-agent: that of the request to the
// API, and that of the CLI's lists. A rule for either is one for the tool.
var AgentTools = []string{"Agent", "Task"}
