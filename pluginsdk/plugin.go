package pluginsdk

import (
	"context"
	"encoding/json"
	"slices"
)

// ContractVersion is the number of the contract that this package is: the one in the
// names of the protocol's packages and in the handshake.
const ContractVersion = 1

// Plugin is what every plugin is. Which hooks it answers is which of the hook
// interfaces it also implements.
type Plugin interface {
	// Manifest describes the plugin. It is called before anything else and
	// must not depend on the environment.
	Manifest() Manifest
}

// Starter is implemented by plugins that need the host. Start readies the
// plugin to answer hooks and has no effect outside the process.
type Starter interface {
	Start(ctx context.Context, host Host) error
}

// Activator is implemented by plugins that act outside their process:
// connect, listen, schedule. Activate may be called again after Deactivate.
type Activator interface {
	Activate(ctx context.Context) error
	Deactivate(ctx context.Context) error
}

// Manifest is what a plugin declares about itself.
type Manifest struct {
	Name        string `json:"name"` // lower case letters, digits and hyphens
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`

	// Hooks is filled in by the SDK from the interfaces the plugin
	// implements; what an author writes here is replaced.
	Hooks []Hook `json:"hooks,omitempty"`
	// OnFailure asks for another failure mode than the hook's default. The
	// operator decides.
	OnFailure map[Hook]OnFailure `json:"onFailure,omitempty"`
	// Needs asks for the parts of hooks' requests that are left out otherwise,
	// because they can be large: see HookSpec.Parts.
	Needs map[Hook][]Part `json:"needs,omitempty"`
	// Sources are the thread sources that the plugin speaks for: it submits under
	// them, their threads are its own, and when it answers Deliver it carries their
	// replies. Empty: its name alone. Of a source that several plugins name, the
	// first one in the operator's order has it.
	Sources []string `json:"sources,omitempty"`

	Commands []CommandSpec `json:"commands,omitempty"`
	Tools    []ToolSpec    `json:"tools,omitempty"`
	// Events restricts OnBroadcast to these event types; a trailing * matches
	// any rest. Empty means all.
	Events []string `json:"events,omitempty"`
	// EventRules restricts OnBroadcast further: of the events that Events names, the plugin
	// is told those that match any of the rules; none: all. EventResync is always told. The
	// rules hold until the process calls Host.Events.Listen. A daemon that does not know
	// them tells all that Events names.
	EventRules []EventRule `json:"eventRules,omitempty"`

	Capabilities []CapabilityRequest  `json:"capabilities,omitempty"`
	Environment  []EnvironmentRequest `json:"environment,omitempty"`
	// SettingsSchema is a JSON Schema of the plugin's settings, or empty.
	SettingsSchema json.RawMessage `json:"settingsSchema,omitempty"`
	// PromptPrefix says that the plugin answers OnBeforeInvoke with text that goes in front of
	// the prompt (OnBeforeInvokeResponse.Prefix), whatever the prompt is. Then it is not sent
	// the prompt, and plugins with PromptPrefix that are neighbours in the operator's order are
	// asked at the same time. A daemon that does not know it sends the prompt, and asks one
	// after the other.
	PromptPrefix bool `json:"promptPrefix,omitempty"`
	// Exclusive says that only one process of the plugin may be active at a
	// time, because it holds a port or a connection.
	Exclusive bool `json:"exclusive,omitempty"`
}

// Answers reports whether the manifest declares the hook.
func (m Manifest) Answers(h Hook) bool {
	return slices.Contains(m.Hooks, h)
}

// Wants reports whether the manifest asks for a part of a hook's request.
func (m Manifest) Wants(h Hook, part Part) bool {
	return slices.Contains(m.Needs[h], part)
}

// SpeaksFor returns the thread sources of the plugin.
func (m Manifest) SpeaksFor() []string {
	if len(m.Sources) == 0 {
		return []string{m.Name}
	}
	return m.Sources
}

// CommandSpec declares a command that people and the agent can give.
type CommandSpec struct {
	Name        string `json:"name"` // without the slash; * answers any name
	Description string `json:"description,omitempty"`
	Usage       string `json:"usage,omitempty"`
	// Options are what the command takes, so that a surface can offer and complete it.
	// They are no more than a description: the command gets its text as it was typed.
	Options []CommandOption `json:"options,omitempty"`
	// Scope is what a person must have to type it; empty: ScopeChat. It counts where the plugin
	// that carries their words says what they may (Submission.Scope).
	Scope TokenScope `json:"scope,omitempty"`
	// Beside says that the command concerns no conversation: what it does and answers depends on
	// nothing that the thread's agent does, and leaves the thread's session alone. One that a
	// person types is carried out at once, beside the turn at work in the thread (Run.Beside), in
	// order only with those of its name in that thread. Commands that the agent gives are carried
	// out in their turn all the same. The name * cannot have it.
	Beside bool `json:"beside,omitempty"`
}

// OptionType says what a command's option takes.
type OptionType string

// The types of option. What this version does not know is OptionText.
const (
	OptionText   OptionType = "text"
	OptionNumber OptionType = "number"
	OptionFlag   OptionType = "flag"   // it is there or not
	OptionChoice OptionType = "choice" // one of Choices
	OptionThread OptionType = "thread" // the id of a thread
	OptionTask   OptionType = "task"   // the id of a task
	OptionModel  OptionType = "model"
)

// known reports whether this version of the contract has the type.
func (t OptionType) known() bool {
	switch t {
	case OptionText, OptionNumber, OptionFlag, OptionChoice, OptionThread, OptionTask, OptionModel:
		return true
	}
	return false
}

// CommandOption is one thing that a command takes.
type CommandOption struct {
	Name        string     `json:"name"` // lower case letters, digits, _ and -
	Description string     `json:"description,omitempty"`
	Type        OptionType `json:"type"`
	Required    bool       `json:"required,omitempty"`
	Choices     []string   `json:"choices,omitempty"`
	// Named says that it is written NAME=VALUE, a flag as NAME alone, before those that
	// are not, which are written in their order; the last of those takes the rest.
	Named bool `json:"named,omitempty"`
}

// Capability names a right: to call the host, or to be asked hooks.
type Capability string

// The capabilities. Each method of Host says which one it needs, and so does each hook.
const (
	CapThreadsRead Capability = "threads.read"
	// CapThreadsWrite makes and changes threads of the plugin's own sources, but
	// for what they may do.
	CapThreadsWrite Capability = "threads.write"
	// CapThreadsAdmin changes every thread, and what a thread may do: its working
	// directory, its permission mode, where its replies go, whose account it uses.
	CapThreadsAdmin   Capability = "threads.admin"
	CapMessagesRead   Capability = "messages.read"
	CapMessagesWrite  Capability = "messages.write"
	CapMessagesSubmit Capability = "messages.submit"
	CapTasksRead      Capability = "tasks.read"
	CapTasksWrite     Capability = "tasks.write"
	// CapTasksDecide speaks for a person on the work of tasks.
	CapTasksDecide       Capability = "tasks.decide"
	CapRunsRead          Capability = "runs.read"
	CapRunsControl       Capability = "runs.control"
	CapDeliveriesRead    Capability = "deliveries.read"
	CapDeliveriesControl Capability = "deliveries.control"
	CapAgentInvoke       Capability = "agent.invoke"
	CapEventsRead        Capability = "events.read"
	CapEventsPublish     Capability = "events.publish"
	CapState             Capability = "state"
	CapCronsRead         Capability = "crons.read"
	CapCronsWrite        Capability = "crons.write"
	CapMetricsRead       Capability = "metrics.read"
	CapMetricsWrite      Capability = "metrics.write"
	CapBudgetsRead       Capability = "budgets.read"
	CapToolsCall         Capability = "tools.call"
	CapPluginsRead       Capability = "plugins.read"
	CapPluginsAdmin      Capability = "plugins.admin"
	CapCommandsRead      Capability = "commands.read"
	CapApprovalsRead     Capability = "approvals.read"
	// CapApprovalsDecide speaks for a person on what the agent may do.
	CapApprovalsDecide Capability = "approvals.decide"
	CapFilesRead       Capability = "files.read"
	CapFilesWrite      Capability = "files.write"
	CapWorkspaceRead   Capability = "workspace.read"
	// CapWorkspaceWrite changes what the agent is told in each of its turns.
	CapWorkspaceWrite Capability = "workspace.write"
	CapTokensCheck    Capability = "tokens.check"
	// CapTokensAdmin makes tokens, of any scope.
	CapTokensAdmin      Capability = "tokens.admin"
	CapInstallationRead Capability = "installation.read"
	// CapInstallationControl holds back what plugins start, and lets it go on.
	CapInstallationControl Capability = "installation.control"
	// CapInstallationBackup makes and reads backups, which hold all that was ever said.
	CapInstallationBackup Capability = "installation.backup"
	// CapAccountsWrite adds, changes and removes the agent's accounts: with whose key or
	// login the agent works, and what it may cost.
	CapAccountsWrite Capability = "accounts.write"

	// The following let a plugin answer hooks: the table of the hooks (HookSpec.Capability)
	// says which hook needs which.

	// CapTurnsRead lets a plugin be told what people write and what the agent answers.
	CapTurnsRead Capability = "turns.read"
	// CapTurnsChange lets a plugin change prompts and replies.
	CapTurnsChange Capability = "turns.change"
	// CapTurnsDecide lets a plugin say whether a run may go on.
	CapTurnsDecide Capability = "turns.decide"
	// CapTasksPrepare lets a plugin say where, and with which words, a task is worked on.
	CapTasksPrepare Capability = "tasks.prepare"
	// CapTasksJudge lets a plugin accept or reject the work of tasks, and hand it over.
	CapTasksJudge Capability = "tasks.judge"
)

// CapabilityRequest is a capability a plugin wants, and why.
type CapabilityRequest struct {
	Capability Capability `json:"capability"`
	Reason     string     `json:"reason"`
}

// EnvironmentRequest is an environment variable a plugin wants, and why.
type EnvironmentRequest struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}
