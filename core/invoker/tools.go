package invoker

import (
	"encoding/json"
	"fmt"
)

const (
	// toolServer is the name under which the CLI knows the plugins' tools.
	toolServer = "harness"
	// toolPrefix is what the CLI puts before the name of one of them.
	toolPrefix = "mcp__" + toolServer + "__"
	// toolRule allows all of them: an operator has enabled the plugins.
	toolRule = toolPrefix + "*"
)

// Tools gives the CLI's processes the plugins' tools.
type Tools interface {
	// Open makes an MCP server for a process that is about to be started.
	Open() ToolSession
}

// ToolSession is the MCP server of one process.
type ToolSession interface {
	// Config is its entry in mcpServers. It holds a secret.
	Config() json.RawMessage
	// Begin is called before the turn of a run begins in the process. It returns the
	// names of the tools that there are, sorted, and whether the CLI was told of
	// others before and is being told of these now.
	Begin(runID string) (names []string, news bool)
	// End is called when that turn is over.
	End()
	// Close ends the server. The process has ended, or was not started; one that
	// died in its turn may be closed before End.
	Close()
}

// noTools is for a CLI that has none.
type noTools struct{}

func (noTools) Config() json.RawMessage       { return nil }
func (noTools) Begin(string) ([]string, bool) { return nil, false }
func (noTools) End()                          {}
func (noTools) Close()                        {}

// openTools returns the tools of a process that is about to be started, and the
// configuration of all its MCP servers; empty when there are none.
func (c *Claude) openTools() (ToolSession, json.RawMessage, error) {
	var session ToolSession = noTools{}
	if c.config.Tools != nil {
		session = c.config.Tools.Open()
	}
	config, err := withServer(c.config.MCPConfig, session.Config())
	if err != nil {
		session.Close()
		return nil, nil, fmt.Errorf("the MCP configuration: %w", err)
	}
	return session, config, nil
}

// withServer returns an MCP configuration with an entry more for the plugins'
// tools.
func withServer(config, entry json.RawMessage) (json.RawMessage, error) {
	if len(entry) == 0 {
		return config, nil
	}
	whole := map[string]json.RawMessage{}
	servers := map[string]json.RawMessage{}
	if len(config) > 0 {
		if err := json.Unmarshal(config, &whole); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(whole["mcpServers"], &servers); err != nil {
			return nil, err
		}
	}
	servers[toolServer] = entry
	merged, err := json.Marshal(servers)
	if err != nil {
		return nil, err
	}
	whole["mcpServers"] = merged
	return json.Marshal(whole)
}
