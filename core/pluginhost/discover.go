package pluginhost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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
		pluginsdk.CapEventsRead, pluginsdk.CapPluginsRead,
	}, []string{"HARNESS_HTTP_ADDR"}},
}

// positionStep leaves room between two plugins for an operator's own.
const positionStep = 10

// discover registers the executables of the plugin directory. Rows that exist
// keep what an operator set.
func (h *Host) discover(ctx context.Context) error {
	entries, err := os.ReadDir(h.config.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("plugin directory %s does not exist: run `make build`, or name another with --plugins", h.config.Dir)
	}
	if err != nil {
		return fmt.Errorf("read the plugin directory: %w", err)
	}
	others := (len(shipped) + 1) * positionStep
	for _, entry := range entries {
		path := filepath.Join(h.config.Dir, entry.Name())
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		row := pluginsdk.PluginInfo{Name: entry.Name(), State: pluginsdk.PluginStopped, Position: others}
		others += positionStep
		for n, known := range shipped {
			if known.name == row.Name {
				row.Enabled, row.Granted, row.Position = true, known.grants, (n+1)*positionStep
			}
		}
		if row.Path, err = filepath.Abs(path); err != nil {
			return fmt.Errorf("path of plugin %s: %w", row.Name, err)
		}
		if row.SHA256, err = hashFile(path); err != nil {
			return fmt.Errorf("hash plugin %s: %w", row.Name, err)
		}
		if err := h.store.RegisterPlugin(ctx, row); err != nil {
			return fmt.Errorf("register plugin %s: %w", row.Name, err)
		}
	}
	return nil
}

func hashFile(path string) (string, error) {
	file, err := os.Open(path) //nolint:gosec // an operator named the directory
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// passed are the variables of the daemon's own environment that every plugin
// gets. Everything else is withheld.
var passed = []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"}

// environment returns the whole environment of a plugin's process.
func (h *Host) environment(plugin string) []string {
	env := []string{"HARNESS_OWNER=" + h.config.Owner}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, known := range shipped {
		if known.name != plugin {
			continue
		}
		for name, value := range h.config.Provide {
			if slices.Contains(known.env, name) {
				env = append(env, name+"="+value)
			}
		}
	}
	return env
}
