package clock

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const toolName = "current_time"

// tool is what the agent is told of current_time.
func tool() pluginsdk.ToolSpec {
	return pluginsdk.ToolSpec{
		Name:        toolName,
		Description: "The current date, weekday and time, in the person's timezone or in the one asked for.",
		InputSchema: json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "timezone": {"type": "string", "description": "IANA name such as Europe/Berlin; by default the person's own"}
  }
}`),
	}
}

// CallTool answers current_time. A timezone that is not known is an error
// result, which the agent can correct.
func (p *Plugin) CallTool(_ context.Context, call *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	if call.Name != toolName {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no tool %q", call.Name)
	}
	var input struct {
		Timezone string `json:"timezone"`
	}
	if len(call.Input) > 0 {
		if err := json.Unmarshal(call.Input, &input); err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "input: %w", err)
		}
	}
	zone := p.zone.Load()
	if input.Timezone != "" {
		var known bool
		if zone, known = location(input.Timezone); !known {
			return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{IsError: true, Text: fmt.Sprintf(
				"The timezone %q is not known. Use an IANA name such as UTC, Europe/Berlin or America/Phoenix, or leave it out for %s.",
				input.Timezone, zoneName(p.now().In(p.zone.Load())))}}, nil
		}
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: timeLine(p.now().In(zone))}}, nil
}

// location looks an IANA name up. Local is none: it says nothing to the agent.
func location(name string) (zone *time.Location, known bool) {
	zone, err := time.LoadLocation(name)
	return zone, err == nil && name != "Local"
}
