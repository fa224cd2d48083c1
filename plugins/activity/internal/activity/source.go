package activity

import "strings"

// toolPrefix is what the agent puts before the name of a tool of the MCP
// server called harness, which serves the plugins' tools.
const toolPrefix = "mcp__harness__"

// toolSource returns the plugin that a tool belongs to, builtin when it is the
// agent's own or another MCP server's. A plugin's tool is PLUGIN__TOOL, with or
// without the prefix of the MCP server.
func toolSource(tool string) string {
	name, ours := strings.CutPrefix(tool, toolPrefix)
	if !ours && strings.HasPrefix(tool, "mcp__") {
		return sourceBuiltin
	}
	plugin, rest, found := strings.Cut(name, "__")
	if !found || rest == "" || !pluginName(plugin) {
		return sourceBuiltin
	}
	return plugin
}

// pluginName reports whether s can be a plugin's name: lower case letters,
// digits and hyphens.
func pluginName(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return s != ""
}
