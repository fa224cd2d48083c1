package plugins

import "github.com/seed-706843ae/harness/pluginsdk"

// strong are the capabilities that reach what else only people may do, or see.
var strong = map[pluginsdk.Capability]bool{
	pluginsdk.CapThreadsAdmin:       true,
	pluginsdk.CapMessagesRead:       true,
	pluginsdk.CapTasksDecide:        true,
	pluginsdk.CapAgentInvoke:        true,
	pluginsdk.CapToolsCall:          true,
	pluginsdk.CapPluginsAdmin:       true,
	pluginsdk.CapApprovalsDecide:    true,
	pluginsdk.CapFilesRead:          true,
	pluginsdk.CapWorkspaceWrite:     true,
	pluginsdk.CapTokensAdmin:        true,
	pluginsdk.CapInstallationBackup: true,
	pluginsdk.CapAccountsWrite:      true,
	pluginsdk.CapTurnsRead:          true,
	pluginsdk.CapTurnsChange:        true,
	pluginsdk.CapTurnsDecide:        true,
	pluginsdk.CapTasksPrepare:       true,
	pluginsdk.CapTasksJudge:         true,
}
