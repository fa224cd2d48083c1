package promptcontext

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// OnCheck says which files prompts do not have the whole of. The prompts say so too, where they are cut.
func (p *Plugin) OnCheck(context.Context, *pluginsdk.OnCheckRequest) (*pluginsdk.OnCheckResponse, error) {
	return &pluginsdk.OnCheckResponse{Checks: p.shelf.Load().files.checks()}, nil
}

// checks is silent when prompts have all files as they are.
func (d *directory) checks() (checks []pluginsdk.Check) {
	if d.path == "" {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	room := int64(maxSectionBytes)
	var leftOut []string
	for _, name := range d.names() {
		info, err := os.Stat(filepath.Join(d.path, name))
		if err != nil || !info.Mode().IsRegular() {
			continue // the log says so when a prompt is made
		}
		shown := min(info.Size(), d.maxBytes)
		switch {
		case shown > room:
			leftOut = append(leftOut, name)
		case info.Size() > d.maxBytes:
			checks = append(checks, pluginsdk.Check{
				Name: name, State: pluginsdk.CheckWarning,
				Detail: fmt.Sprintf("it has %d bytes, and prompts have the first %d of them", info.Size(), d.maxBytes),
				Remedy: "shorten it, move what is long to a file below notes/, or raise maxFileBytes (`harness plugin settings set context maxFileBytes=131072`)",
			})
		}
		room -= shown
	}
	if len(leftOut) > 0 {
		checks = append(checks, pluginsdk.Check{
			Name: "context files", State: pluginsdk.CheckWarning,
			Detail: fmt.Sprintf("together they are longer than the %d bytes that prompts have of them; cut or left out: %s", maxSectionBytes, strings.Join(leftOut, ", ")),
			Remedy: "shorten them, or move what is long to files below notes/",
		})
	}
	return checks
}
