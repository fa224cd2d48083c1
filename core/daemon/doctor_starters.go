package daemon

import (
	"context"
	"path/filepath"
	"strings"

	starter "github.com/seed-706843ae/harness/context"
	"github.com/seed-706843ae/harness/core/store"
	contextfiles "github.com/seed-706843ae/harness/core/workspace"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// checkStarters says for which context files there are newer starters, and is silent when there are none. It is no fault: the
// files are the agent's and the operator's own.
func checkStarters(ctx context.Context, config Config, database *store.Store) []Check {
	files, err := contextfiles.Starters(starter.FS)
	if err != nil {
		return nil
	}
	var newer []string
	for _, file := range files {
		text, err := contextfiles.TextIn(filepath.Join(config.Data, "workspace"), file.Path)
		if err != nil {
			continue // it is the operator's to delete, and to make something else
		}
		standing, _, err := file.Stand(text, func() ([]string, error) { return versionsOf(ctx, database, file.Path) })
		if err == nil && file.Offered(standing) && standing != contextfiles.Unknown {
			newer = append(newer, file.Path)
		}
	}
	if len(newer) == 0 {
		return nil
	}
	return []Check{{
		Name: "context files", OK: true, Optional: true,
		Detail: "there are newer starters of " + strings.Join(newer, ", ") + ": `harness context diff` shows what is new, `harness context take FILE` takes it",
	}}
}

// versionsOf are the versions that a context file has had, newest first.
func versionsOf(ctx context.Context, database *store.Store, path string) (versions []string, err error) {
	query := pluginsdk.WorkspaceHistoryRequest{Path: path, Limit: 1000}
	for {
		changes, err := database.WorkspaceHistory(ctx, query)
		if err != nil || len(changes) == 0 {
			return versions, err
		}
		for _, change := range changes {
			versions = append(versions, change.Version)
		}
		query.Before = changes[len(changes)-1].ID
	}
}
