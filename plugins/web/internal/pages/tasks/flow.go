package tasks

import (
	"context"
	"net/url"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// flow is the workflow that a task is of.
type flow struct {
	id string // empty: it is of none
	api.Workflow
	missing string // why its stages cannot be shown; empty: they are there
}

// flow reads the workflow that a task is of. Of another task nothing is asked. What the API does not tell is said on the
// page, which is there without it.
func (p pages) flow(ctx context.Context, task pluginsdk.Task) (of flow, err error) {
	if of.id = api.WorkflowOf(task); of.id == "" {
		return of, nil
	}
	err = p.Get(ctx, "/api/workflows/"+url.PathEscape(of.id), nil, &of.Workflow)
	if site.Status(err) != 0 {
		of.missing, err = err.Error(), nil
	}
	return of, err
}
