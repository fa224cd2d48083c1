package daemon

import (
	"path/filepath"

	"github.com/seed-706843ae/harness/core/depot"
)

// Depot returns the packages of installed plugins as the configuration has
// them: in DATA/plugins, with the publishers of HARNESS_PLUGIN_PUBLISHERS and of
// DATA/publishers/*.pub.
func (c Config) Depot() (*depot.Depot, error) {
	publishers, err := depot.LoadPublishers(c.PluginPublishers, filepath.Join(c.Data, "publishers"))
	if err != nil {
		return nil, err
	}
	return depot.New(depot.Config{
		Dir: filepath.Join(c.Data, "plugins"), Publishers: publishers, RequireSignature: c.PluginSignatures == "required",
	}), nil
}

// PluginLog is the file in which the daemon keeps what a plugin logs.
func (c Config) PluginLog(name string) string { return filepath.Join(c.PluginLogs(), name+".log") }

// PluginLogs is the directory of the plugins' logs.
func (c Config) PluginLogs() string { return filepath.Join(c.Data, "logs", "plugins") }

func setPublishers(c *Config, value string) error {
	c.PluginPublishers = splitList(value)
	_, err := depot.LoadPublishers(c.PluginPublishers, "")
	return err
}
