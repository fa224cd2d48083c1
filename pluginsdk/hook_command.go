package pluginsdk

import "context"

// CommandOrigin says who gave a command.
type CommandOrigin string

// The origins of a command.
const (
	FromPerson CommandOrigin = "person"
	FromAgent  CommandOrigin = "agent"
)

// Command is a command that a person typed or the agent wrote.
type Command struct {
	Call       Call
	Thread     Thread
	Message    Message // the message of the run that the command came up in
	Origin     CommandOrigin
	Index      int    // which command of the run, from 0
	Name       string // without the slash
	Body       string // what stands in the block, or after the name
	Attributes map[string]string
}

// CommandResult is a plugin's answer to a command.
type CommandResult struct {
	Handled bool
	Reply   string // posted in the thread when not empty
}

// CommandHook answers commands. Plugins that declare the name (or *) are asked
// in the operator's order until one handles it. An error is shown to the
// person and the command is not handed to another plugin.
type CommandHook interface {
	OnCommand(ctx context.Context, command Command) (CommandResult, error)
}

// CommandFunc adapts a function to CommandHook.
type CommandFunc func(ctx context.Context, command Command) (CommandResult, error)

// OnCommand calls f.
func (f CommandFunc) OnCommand(ctx context.Context, command Command) (CommandResult, error) {
	return f(ctx, command)
}
