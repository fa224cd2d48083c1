package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// positionStep is the distance between the positions of two plugins, in which an operator
// can put others.
const positionStep = 10

// discover registers the executables of the plugin directory, and pins them as they are
// now. In rows that exist, an operator's decisions stay.
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
	known := make(map[string]ledger.Plugin, len(rows))
	for _, row := range rows {
		known[row.Name] = row
	}
	others := (len(h.shipped) + 1) * positionStep
	var rowsFound []ledger.Plugin
	for _, entry := range entries {
		path, err := filepath.Abs(filepath.Join(h.config.Dir, entry.Name()))
		if err != nil {
			return fmt.Errorf("path of plugin %s: %w", entry.Name(), err)
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		rowsFound = append(rowsFound, h.found(entry.Name(), path, others))
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

// found returns the row of a plugin that is seen for the first time.
func (h *Host) found(name, path string, position int) ledger.Plugin {
	row := ledger.Plugin{Path: path}
	row.Name, row.Origin, row.State, row.Position = name, pluginsdk.OriginDirectory, pluginsdk.PluginStopped, position
	if place := h.shipped.Place(name); place > 0 {
		row.Enabled, row.Position, row.GrantsVersion = true, place*positionStep, h.shipped.Version()
		row.Granted, row.GrantedEnv = h.shipped.After(name, 0)
		row.Limits = shipped.Limits[name]
	}
	return row
}

// register stores the row of an executable of the directory. It leaves the row of the
// same name alone when an operator installed that plugin, or is working on it.
func (h *Host) register(ctx context.Context, known, row ledger.Plugin) error {
	if known.Origin == pluginsdk.OriginStore || known.Origin == pluginsdk.OriginDev {
		h.config.Log.Warn("a plugin of the directory is not used: one of the same name was installed",
			"plugin", row.Name, "unused", row.Path, "used", known.Path)
		return nil
	}
	if known.Name != "" { // before RegisterPlugin sets the origin, by which adopt tells old rows
		if err := h.adopt(ctx, known); err != nil {
			return err
		}
	}
	if err := h.store.RegisterPlugin(ctx, row); err != nil {
		return fmt.Errorf("register plugin %s: %w", row.Name, err)
	}
	if known.Name == "" || known.SHA256 == row.SHA256 {
		return nil
	}
	detail := fmt.Sprintf("%s has changed in the plugin directory: sha256 %s, before %s", row.Path, row.SHA256, known.SHA256)
	if known.Quarantine != "" { // the quarantine was another version's
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
