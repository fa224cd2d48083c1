package invoker

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// The CLI learns from its MCP server that the tools have changed. It then reads the new
// list, and some milliseconds later its turns have the new tools. Verified with 2.1.197:
// it does so between turns as well, so that a warm process need not be started anew (that of
// 2.1.330 has to be when a tool is gone or has changed: see cli.Features); and
// a prompt that comes in those milliseconds is still answered with the old tools. So the
// prompt waits until the CLI says that it knows the new ones. A process's first prompt
// waits too: the CLI connects while it starts, and on a busy machine its first turn
// would be over before it has any tools. (The CLI waits by itself for a server that is
// configured as alwaysLoad, but never reads that server's list again.)

// toolsPoll is the pause before the CLI is asked again.
const toolsPoll = 5 * time.Millisecond

// toolsPatience is how long a prompt waits for the CLI to know its tools. When the CLI
// calls a tool that is gone, the call is refused.
const toolsPatience = 5 * time.Second

// startPatience is how many times longer than toolsPatience a process's first prompt
// waits: the CLI has to start.
const startPatience = 15

// statusSaid is the answer to mcp_status.
type statusSaid struct {
	Servers []struct {
		Name   string `json:"name"`
		Status string `json:"status"` // pending while it connects
		Tools  []struct {
			Name string `json:"name"`
		} `json:"tools"`
	} `json:"mcpServers"`
}

// names returns the plugins' tools, sorted.
func (s statusSaid) names() []string {
	var names []string
	for _, server := range s.Servers {
		if server.Name != toolServer {
			continue
		}
		for _, tool := range server.Tools {
			names = append(names, tool.Name)
		}
	}
	slices.Sort(names)
	return names
}

// settled reports whether no server is still connecting.
func (s statusSaid) settled() bool {
	for _, server := range s.Servers {
		if server.Status == "pending" {
			return false
		}
	}
	return true
}

// awaitTools waits until the CLI knows the tools of t.offered, if t.news says that it may
// not. In a process that begins it waits also until the other MCP servers have connected, or
// have failed to, for which the CLI has a limit of its own.
func (t *turn) awaitTools(ctx context.Context, in *turnLines) {
	first, limit := t.session.turns == 0, t.config.toolsPatience
	if !t.news && (!first || !t.session.servers) {
		return
	}
	if first {
		limit *= startPatience
	}
	patience := time.NewTimer(limit)
	defer patience.Stop()
	poll := time.NewTicker(toolsPoll)
	defer poll.Stop()
	for {
		status, ok := t.serverStatus(ctx, in, patience.C)
		known := status.names()
		// Before the first turn there is no older list: any list is the new one.
		has := slices.Equal(known, t.offered) || first && len(known) > 0
		if !ok || (has || !t.news) && (!first || status.settled()) {
			return
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
}

// serverStatus asks the CLI for its MCP servers. ok is false without an answer before
// enough, the end of the process or that of ctx.
func (t *turn) serverStatus(ctx context.Context, in *turnLines, enough <-chan time.Time) (status statusSaid, ok bool) {
	answers, ok := t.session.inquire(ctx, in, enough, "mcp_status")
	if !ok && ctx.Err() == nil && t.session.alive() {
		t.session.log.Warn("the agent may not know yet which tools there are now; a call of one that is gone is refused")
	}
	answer := answers["mcp_status"].Response
	return status, ok && answer != nil && json.Unmarshal(answer, &status) == nil
}
