// Package starter holds the files that a new workspace begins with. It is named
// for what it holds, because the directory's name is that of a standard package.
//
// CLAUDE.md belongs at the top of a workspace, where the agent's CLI reads it;
// every other file in the workspace's context directory, from which the context
// plugin puts it into prompts. From then on they are the agent's own: an
// upgrade must not overwrite them.
package starter

import "embed"

// FS holds CLAUDE.md, inbox.md, memory.md, system.md, thread-summaries.md and
// world-state.md, all at its root.
//
//go:embed *.md
var FS embed.FS
