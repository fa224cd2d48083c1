package invoker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	// Begin is called before a turn for a purpose in a thread begins in the
	// process. It returns the names of the tools that there are, sorted, and
	// whether the CLI was told of others before and is being told of these now.
	Begin(threadID, purpose string) (names []string, news bool)
	// End is called when that turn is over.
	End()
	// Close ends the server. The process has ended, or was not started; one that
	// died in its turn may be closed before End.
	Close()
}

// noTools is for a CLI that has none.
type noTools struct{}

func (noTools) Config() json.RawMessage               { return nil }
func (noTools) Begin(string, string) ([]string, bool) { return nil, false }
func (noTools) End()                                  {}
func (noTools) Close()                                {}

// openTools returns the tools of a process that is about to be started, and the
// path of a file with all its MCP servers; empty when there are none. Done with
// the process, closeTools ends both.
func (c *Claude) openTools() (session ToolSession, path string, err error) {
	session = noTools{}
	if c.config.Tools != nil {
		session = c.config.Tools.Open()
	}
	config, err := withServer(c.config.MCPConfig, session.Config())
	if err == nil && len(config) > 0 {
		path, err = writePrivate(c.config.Private, config)
	}
	if err != nil {
		session.Close()
		return nil, "", fmt.Errorf("write the MCP configuration: %w", err)
	}
	return session, path, nil
}

func (c *Claude) closeTools(session ToolSession, path string) {
	session.Close()
	if path == "" {
		return
	}
	if err := os.Remove(path); err != nil {
		c.config.Log.Warn("the MCP configuration of a process that has ended cannot be removed", "err", err)
	}
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

// privateFiles are the names of what writePrivate writes.
const privateFiles = "harness-mcp-*.json"

// writePrivate puts content into a new file that only this user can read: on a
// command line its secrets would be in everybody's process list.
func writePrivate(dir string, content []byte) (path string, err error) {
	file, err := os.CreateTemp(dir, privateFiles)
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// clearPrivate makes the directory of private files, and removes those that a
// predecessor that was killed left there.
func clearPrivate(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of private files: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, privateFiles))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("remove private files left behind: %w", err)
	}
	return nil
}
