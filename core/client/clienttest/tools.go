package clienttest

import (
	"encoding/json"
	"net/http"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// tool is a tool and what answers its calls.
type tool struct {
	client.Tool
	answer func(input json.RawMessage) pluginsdk.ToolResult
}

// AddTool adds a tool, whose calls answer answers.
func (d *Daemon) AddTool(added client.Tool, answer func(input json.RawMessage) pluginsdk.ToolResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tools = append(d.tools, tool{added, answer})
}

func (d *Daemon) listTools(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	listed := make([]client.Tool, len(d.tools))
	for n, tool := range d.tools {
		listed[n] = tool.Tool
	}
	reply(w, http.StatusOK, map[string]any{"tools": listed})
}

func (d *Daemon) callTool(w http.ResponseWriter, r *http.Request) {
	var request struct{ Input json.RawMessage }
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, tool := range d.tools {
		if tool.Name == r.PathValue("name") {
			reply(w, http.StatusOK, tool.answer(request.Input))
			return
		}
	}
	refuse(w, http.StatusNotFound, "there is no tool "+r.PathValue("name"))
}
