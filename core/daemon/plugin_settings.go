package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/core/store"
)

// SecretsKeyFile is the file of the data directory with the key that opens the
// plugins' secrets. It is made with the first secret, and is in no backup.
const SecretsKeyFile = "secrets.key"

// NewSettings returns the plugins' settings in an installation's database.
func NewSettings(config Config, database *store.Store) *settings.Settings {
	return settings.New(database, config.vault())
}

// vault opens and seals the secrets of the installation.
func (c Config) vault() *settings.Vault {
	return settings.NewVault(c.SecretsKey, filepath.Join(c.Data, SecretsKeyFile))
}

// pluginSettings is what the plugin host configures a plugin with.
func (d *Daemon) pluginSettings(ctx context.Context, row ledger.Plugin) (pluginhost.Settings, error) {
	held, err := d.settings.Of(ctx, row)
	secrets := held.Secrets
	for _, name := range row.GrantedEnv { // what the daemon itself provides is no secret
		if value := os.Getenv(name); value != "" && !strings.HasPrefix(name, "HARNESS_") {
			secrets = append(secrets, value)
		}
	}
	return pluginhost.Settings{Values: held.Values, Redact: settings.Redactor(secrets), Problem: held.Problem, Stored: held.Stored}, err
}
