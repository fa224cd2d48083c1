package clienttest

import (
	"net/http"
	"slices"

	"github.com/seed-706843ae/harness/core/client"
)

// AddWorkflow adds a workflow, which is the newest then, or puts one in the place of that with its id. A daemon without one
// has nobody who drives workflows.
func (d *Daemon) AddWorkflow(workflow client.Workflow) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := slices.IndexFunc(d.workflows, func(w client.Workflow) bool { return w.ID == workflow.ID })
	if at >= 0 {
		d.workflows[at] = workflow
		return
	}
	d.workflows = slices.Insert(d.workflows, 0, workflow)
}

func (d *Daemon) listWorkflows(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	reply(w, http.StatusOK, map[string]any{"served": len(d.workflows) > 0, "workflows": append([]client.Workflow{}, d.workflows...)})
}

func (d *Daemon) getWorkflow(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.workflows {
		if one.ID == r.PathValue("id") {
			reply(w, http.StatusOK, one)
			return
		}
	}
	refuse(w, http.StatusNotFound, "there is no workflow with the id "+r.PathValue("id"))
}
