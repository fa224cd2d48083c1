package pluginsdk

import (
	"slices"
	"strings"
)

// meanings is the table of the capabilities, each with what it lets a plugin do.
var meanings = []struct {
	capability Capability
	words      string
}{
	{CapThreadsRead, "see conversations and how they are set"},
	{CapThreadsWrite, "make conversations of its own, and change them"},
	{CapThreadsAdmin, "change every conversation, and what the agent may do in it"},
	{CapMessagesRead, "read everything that was said, and what the agent thought, did and read for it"},
	{CapMessagesWrite, "add lines to conversations"},
	{CapMessagesSubmit, "say something to the agent, as the people it speaks for"},
	{CapTasksRead, "see tasks, the work that was done, and what was said of it"},
	{CapTasksWrite, "make tasks, and cancel its own"},
	{CapTasksDecide, "decide on tasks in a person's place"},
	{CapRunsRead, "see runs: what was asked, what was answered, what they did"},
	{CapRunsControl, "stop runs, and try them again"},
	{CapDeliveriesRead, "see what is on its way to people"},
	{CapDeliveriesControl, "try deliveries again"},
	{CapAgentInvoke, "ask the agent by itself, which costs money"},
	{CapEventsRead, "follow all that happens, with every message and every answer"},
	{CapEventsPublish, "tell others what it does"},
	{CapState, "keep data of its own"},
	{CapCronsRead, "see scheduled jobs"},
	{CapCronsWrite, "make and change scheduled jobs"},
	{CapMetricsRead, "see how the daemon does"},
	{CapMetricsWrite, "keep figures"},
	{CapBudgetsRead, "see what was spent of the budgets that it holds"},
	{CapToolsCall, "call the tools of other plugins"},
	{CapPluginsRead, "see plugins and their logs"},
	{CapPluginsAdmin, "install, change and grant plugins"},
	{CapCommandsRead, "see the commands that people can type"},
	{CapApprovalsRead, "see what the agent asks people"},
	{CapApprovalsDecide, "answer the agent's questions in a person's place"},
	{CapFilesRead, "read the files of conversations"},
	{CapFilesWrite, "take in files"},
	{CapWorkspaceRead, "read what the agent is told in each turn"},
	{CapWorkspaceWrite, "change what the agent is told in each turn"},
	{CapTokensCheck, "know who calls from outside"},
	{CapTokensAdmin, "make tokens, with which anybody may do everything"},
	{CapInstallationRead, "see the audit log, what was spent and what is wrong"},
	{CapInstallationControl, "hold back what plugins start"},
	{CapInstallationBackup, "make and read backups, which hold everything"},
	{CapAccountsWrite, "add and change the accounts that the agent works and is billed with"},
	{CapTurnsRead, "read every message and every answer, and what the agent thought, did and read for it"},
	{CapTurnsChange, "read and change what the agent is told, and what people are answered"},
	{CapTurnsDecide, "read every message, and what plugins ask the agent, and decide whether the agent gets it"},
	{CapTasksPrepare, "read new tasks, and decide where they are worked on and what their agents are told"},
	{CapTasksJudge, "read the work of tasks, decide whether it is accepted, and hand it over"},
}

// AllCapabilities returns every capability of the contract.
func AllCapabilities() []Capability {
	all := make([]Capability, len(meanings))
	for n, one := range meanings {
		all[n] = one.capability
	}
	return all
}

// Meaning says what the capability lets a plugin do, in words for who decides on it, such as
// "see scheduled jobs"; empty: this version of the contract does not know it.
func (c Capability) Meaning() string {
	for _, one := range meanings {
		if one.capability == c {
			return one.words
		}
	}
	return ""
}

// Requests are the capabilities that the plugin wants: those that its manifest asks for, and
// those that its hooks need beside them.
func (m Manifest) Requests() []CapabilityRequest {
	requests := slices.Clone(m.Capabilities)
	for _, capability := range AllCapabilities() {
		hooks := m.needing(capability)
		if len(hooks) > 0 && !slices.ContainsFunc(requests, func(r CapabilityRequest) bool { return r.Capability == capability }) {
			requests = append(requests, CapabilityRequest{capability, "it answers " + strings.Join(hooks, ", ")})
		}
	}
	return requests
}

// needing names the hooks of the manifest that need the capability.
func (m Manifest) needing(capability Capability) (hooks []string) {
	for _, spec := range table {
		if spec.Capability == capability && m.Answers(spec.Hook) {
			hooks = append(hooks, string(spec.Hook))
		}
	}
	return hooks
}

// MayAnswer reports whether the plugin has been granted what the hook needs. A plugin that
// has not is never asked; the error (CodeUnavailable) says which capability it lacks, and how
// an operator grants that.
func (p PluginInfo) MayAnswer(h Hook) error {
	spec, _ := h.Spec()
	if spec.Capability == "" || slices.Contains(p.Granted, spec.Capability) {
		return nil
	}
	return Errorf(CodeUnavailable, "the plugin %[1]s lacks the capability %[3]s, which %[2]s needs: `harness plugin grant %[1]s %[3]s`, or disable the plugin",
		p.Name, h, spec.Capability)
}
