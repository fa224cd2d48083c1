package plugins

import "github.com/seed-706843ae/harness/pluginsdk"

// meaning is what a capability lets a plugin do, in words for who decides on it. A strong one
// reaches what else only people may do, or see.
type meaning struct {
	words  string
	strong bool
}

var meanings = map[pluginsdk.Capability]meaning{
	pluginsdk.CapThreadsRead:         {"see conversations and how they are set", false},
	pluginsdk.CapThreadsWrite:        {"make conversations of its own, and change them", false},
	pluginsdk.CapThreadsAdmin:        {"change every conversation, and what the agent may do in it", true},
	pluginsdk.CapMessagesRead:        {"read everything that was said", true},
	pluginsdk.CapMessagesWrite:       {"add lines to conversations", false},
	pluginsdk.CapMessagesSubmit:      {"say something to the agent, as the people it speaks for", false},
	pluginsdk.CapTasksRead:           {"see tasks", false},
	pluginsdk.CapTasksWrite:          {"make tasks, and cancel its own", false},
	pluginsdk.CapTasksDecide:         {"decide on tasks in a person's place", true},
	pluginsdk.CapRunsRead:            {"see runs and what they did", false},
	pluginsdk.CapRunsControl:         {"stop runs, and try them again", false},
	pluginsdk.CapDeliveriesRead:      {"see what is on its way to people", false},
	pluginsdk.CapDeliveriesControl:   {"try deliveries again", false},
	pluginsdk.CapAgentInvoke:         {"ask the agent by itself, which costs money", true},
	pluginsdk.CapEventsRead:          {"follow all that happens", false},
	pluginsdk.CapEventsPublish:       {"tell others what it does", false},
	pluginsdk.CapState:               {"keep data of its own", false},
	pluginsdk.CapCronsRead:           {"see scheduled jobs", false},
	pluginsdk.CapCronsWrite:          {"make and change scheduled jobs", false},
	pluginsdk.CapMetricsRead:         {"see how the daemon does", false},
	pluginsdk.CapMetricsWrite:        {"keep figures", false},
	pluginsdk.CapToolsCall:           {"call the tools of other plugins", true},
	pluginsdk.CapPluginsRead:         {"see plugins and their logs", false},
	pluginsdk.CapPluginsAdmin:        {"install, change and grant plugins", true},
	pluginsdk.CapCommandsRead:        {"see the commands that people can type", false},
	pluginsdk.CapApprovalsRead:       {"see what the agent asks people", false},
	pluginsdk.CapApprovalsDecide:     {"answer the agent's questions in a person's place", true},
	pluginsdk.CapFilesRead:           {"read the files of conversations", true},
	pluginsdk.CapFilesWrite:          {"take in files", false},
	pluginsdk.CapWorkspaceRead:       {"read what the agent is told in each turn", false},
	pluginsdk.CapWorkspaceWrite:      {"change what the agent is told in each turn", true},
	pluginsdk.CapTokensCheck:         {"know who calls from outside", false},
	pluginsdk.CapTokensAdmin:         {"make tokens, with which anybody may do everything", true},
	pluginsdk.CapInstallationRead:    {"see the audit log, what was spent and what is wrong", false},
	pluginsdk.CapInstallationControl: {"hold back what plugins start", false},
	pluginsdk.CapInstallationBackup:  {"make and read backups, which hold everything", true},
	pluginsdk.CapAccountsWrite:       {"add and change the accounts that the agent works and is billed with", true},
}
