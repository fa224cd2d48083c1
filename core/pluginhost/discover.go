package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// shipped are the plugins that come with Harness: enabled with these grants at
// first start, in this order. Whatever else lies in the directory starts
// disabled, with no grants, behind them.
var shipped = []struct {
	name   string
	grants []pluginsdk.Capability
	env    []string
}{
	{"activity", []pluginsdk.Capability{pluginsdk.CapMessagesWrite}, nil},
	{"context", []pluginsdk.Capability{pluginsdk.CapMessagesRead}, []string{"HARNESS_WORKSPACE"}},
	{"time", nil, nil},
	{"web", []pluginsdk.Capability{
		pluginsdk.CapThreadsRead, pluginsdk.CapThreadsWrite, pluginsdk.CapMessagesRead, pluginsdk.CapMessagesSend,
		pluginsdk.CapRunsRead, pluginsdk.CapRunsControl, pluginsdk.CapDeliveriesRead, pluginsdk.CapDeliveriesControl,
		pluginsdk.CapEventsRead, pluginsdk.CapPluginsRead, pluginsdk.CapPluginsAdmin, pluginsdk.CapToolsCall,
	}, []string{"HARNESS_HTTP_ADDR"}},
}

// positionStep leaves room between two plugins for an operator's own.
const positionStep = 10

// discover registers the executables of the plugin directory, and pins them as
// they are now. Rows that exist keep what an operator set.
func (h *Host) discover(ctx context.Context) error {
	entries, err := os.ReadDir(h.config.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("plugin directory %s does not exist: run `make build`, or name another with --plugins", h.config.Dir)
	}
	if err != nil {
		return fmt.Errorf("read the plugin directory: %w", err)
	}
	rows, err := h.store.Plugins(ctx)
	if err != nil {
		return fmt.Errorf("read the plugin registry: %w", err)
	}
	known := make(map[string]pluginsdk.PluginInfo, len(rows))
	for _, row := range rows {
		known[row.Name] = row
	}
	others := (len(shipped) + 1) * positionStep
	var rowsFound []pluginsdk.PluginInfo
	for _, entry := range entries {
		path, err := filepath.Abs(filepath.Join(h.config.Dir, entry.Name()))
		if err != nil {
			return fmt.Errorf("path of plugin %s: %w", entry.Name(), err)
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		rowsFound = append(rowsFound, found(entry.Name(), path, others))
		others += positionStep
	}
	if err := h.pins.take(rowsFound); err != nil {
		return err
	}
	for _, row := range rowsFound {
		if err := h.register(ctx, known[row.Name], row); err != nil {
			return err
		}
	}
	return nil
}

// found is the row of a plugin that was seen for the first time.
func found(name, path string, position int) pluginsdk.PluginInfo {
	row := pluginsdk.PluginInfo{
		Name: name, Path: path, Origin: pluginsdk.OriginDirectory, State: pluginsdk.PluginStopped, Position: position,
	}
	for n, known := range shipped {
		if known.name == name {
			row.Enabled, row.Granted, row.GrantedEnv, row.Position = true, known.grants, known.env, (n+1)*positionStep
		}
	}
	return row
}

// register pins what lies in the directory. What an operator installed or is
// working on has precedence over it.
func (h *Host) register(ctx context.Context, known, row pluginsdk.PluginInfo) error {
	if known.Origin == pluginsdk.OriginStore || known.Origin == pluginsdk.OriginDev {
		h.config.Log.Warn("a plugin of the directory is not used: one of the same name was installed",
			"plugin", row.Name, "unused", row.Path, "used", known.Path)
		return nil
	}
	if err := h.store.RegisterPlugin(ctx, row); err != nil {
		return fmt.Errorf("register plugin %s: %w", row.Name, err)
	}
	if known.Name == "" {
		return nil
	}
	if err := h.adopt(ctx, known, row); err != nil {
		return err
	}
	if known.SHA256 == row.SHA256 {
		return nil
	}
	detail := fmt.Sprintf("%s has changed in the plugin directory: sha256 %s, before %s", row.Path, row.SHA256, known.SHA256)
	if known.Quarantine != "" { // that was another version
		if err := h.store.SetPluginQuarantine(ctx, row.Name, ""); err != nil {
			return fmt.Errorf("end the quarantine of %s: %w", row.Name, err)
		}
		detail += "; out of quarantine"
	}
	if err := h.store.Audit(ctx, "daemon", "plugin.pin", row.Name, detail); err != nil {
		return fmt.Errorf("note the new pin of %s: %w", row.Name, err)
	}
	return nil
}

// adopt gives a shipped plugin, once, what it has been granted by default since
// the installation was made: rows of before have no origin.
func (h *Host) adopt(ctx context.Context, known, row pluginsdk.PluginInfo) error {
	granted := slices.Clone(known.Granted)
	for _, capability := range row.Granted {
		if !slices.Contains(granted, capability) {
			granted = append(granted, capability)
		}
	}
	if known.Origin != "" || len(granted) == len(known.Granted) && row.GrantedEnv == nil {
		return nil
	}
	if err := h.store.SetPluginGrants(ctx, row.Name, granted, row.GrantedEnv); err != nil {
		return fmt.Errorf("grant %s what this version needs: %w", row.Name, err)
	}
	detail := fmt.Sprintf("this version needs: %s %s", listed(granted[len(known.Granted):]), listed(row.GrantedEnv))
	if err := h.store.Audit(ctx, "daemon", "plugin.grant", row.Name, detail); err != nil {
		return fmt.Errorf("note the grants of %s: %w", row.Name, err)
	}
	return nil
}
