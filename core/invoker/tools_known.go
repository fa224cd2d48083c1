package invoker

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
)

// The CLI learns from its MCP server that the tools have changed. It then reads the new
// list, and some milliseconds later its turns have the new tools. Verified with 2.1.197:
// it does so between turns as well, so that a warm process need not be started anew; and
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

// statusLine asks the CLI for its MCP servers and their tools.
func statusLine(requestID string) []byte {
	return encode(outRequest{Type: "control_request", RequestID: requestID, Request: outSubtype{Subtype: "mcp_status"}})
}

type statusResponse struct {
	Response struct {
		Subtype   string `json:"subtype"`
		RequestID string `json:"request_id"`
		Response  struct {
			Servers []struct {
				Name  string `json:"name"`
				Tools []struct {
					Name string `json:"name"`
				} `json:"tools"`
			} `json:"mcpServers"`
		} `json:"response"`
	} `json:"response"`
}

// names returns the plugins' tools, sorted.
func (r statusResponse) names() []string {
	var names []string
	for _, server := range r.Response.Response.Servers {
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

// awaitTools waits until the CLI knows the tools of t.offered, if t.news says that it may
// not.
func (t *turn) awaitTools(ctx context.Context, in *turnLines) {
	if !t.news {
		return
	}
	first, limit := t.session.turns == 0, t.config.toolsPatience
	if first {
		limit *= startPatience
	}
	patience := time.NewTimer(limit)
	defer patience.Stop()
	poll := time.NewTicker(toolsPoll)
	defer poll.Stop()
	for {
		known, ok := t.knownTools(ctx, in, patience.C)
		// Before the first turn there is no older list: any list is the new one.
		if !ok || slices.Equal(known, t.offered) || first && len(known) > 0 {
			return
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
}

// knownTools asks the CLI which of the plugins' tools it knows. ok is false without an
// answer before enough, the end of the process or that of ctx.
func (t *turn) knownTools(ctx context.Context, in *turnLines, enough <-chan time.Time) (names []string, ok bool) {
	id := uuid.NewString()
	if !t.session.process.send(statusLine(id)) {
		return nil, false
	}
	for {
		select {
		case line := <-in.lines:
			var status statusResponse
			if json.Unmarshal(line, &status) != nil || status.Response.RequestID != id {
				t.session.between(line)
				continue
			}
			return status.names(), status.Response.Subtype == "success"
		case <-t.session.process.exited:
			return nil, false
		case <-ctx.Done():
			return nil, false
		case <-enough:
			t.session.log.Warn("the agent may not know yet which tools there are now; a call of one that is gone is refused")
			return nil, false
		}
	}
}
