package invoker

import (
	"errors"
	"os/exec"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
)

// Command returns the command with which a process of the CLI would be started for a
// request, for who has to see what the CLI itself says (core/agentcheck). The process is
// the caller's; release removes its private files once it has ended. The plugins' tools
// are not among its servers.
func (c *Claude) Command(request ledger.AgentRequest) (command *exec.Cmd, release func(), err error) {
	w, failure := c.config.settle(request)
	if failure == nil {
		failure = c.prepare(&w)
	}
	if failure != nil {
		return nil, nil, errors.New(failure.Message)
	}
	path, err := c.config.lookPath()
	if err != nil {
		return nil, nil, err
	}
	features, failure := c.features(w.binary, path, w.brief.environ)
	if failure != nil {
		return nil, nil, errors.New(failure.Message)
	}
	files, err := c.writePrivate(map[privateFile][]byte{
		privateMCP: c.config.MCPConfig, privateSettings: w.brief.settings, privatePrompt: w.brief.prompt,
	})
	if err != nil {
		return nil, nil, err
	}
	id := w.session
	if id == "" {
		id = uuid.NewString()
	}
	command = exec.Command(path, w.arguments(id, w.resume, files, features)...)
	command.Env, command.Dir = w.brief.environ, w.cwd
	return command, func() { c.removePrivate(files) }, nil
}
