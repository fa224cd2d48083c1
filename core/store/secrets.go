package store

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/account"
	"github.com/seed-706843ae/harness/ent/plugin"
	"github.com/seed-706843ae/harness/ent/pluginsecret"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// PluginSecrets returns a plugin's secret settings by name, sealed as they were
// stored.
func (s *Store) PluginSecrets(ctx context.Context, plugin string) (map[string][]byte, error) {
	sealed, err := secretsOf(ctx, s.read.PluginSecret, plugin)
	return sealed, wrap("read secrets", err)
}

func secretsOf(ctx context.Context, from *ent.PluginSecretClient, plugin string) (map[string][]byte, error) {
	rows, err := from.Query().Where(pluginsecret.Plugin(plugin)).All(ctx)
	if err != nil {
		return nil, err
	}
	sealed := make(map[string][]byte, len(rows))
	for _, row := range rows {
		sealed[row.Name] = row.Value
	}
	return sealed, nil
}

// SomeSecret returns one sealed secret, the first of any plugin or else of an account, and
// what it is sealed as. sealed is nil when there is none.
func (s *Store) SomeSecret(ctx context.Context) (owner, name string, sealed []byte, err error) {
	row, err := s.read.PluginSecret.Query().Order(pluginsecret.ByID()).First(ctx)
	if err == nil {
		return row.Plugin, row.Name, row.Value, nil
	}
	if !ent.IsNotFound(err) {
		return "", "", nil, wrap("read secrets", err)
	}
	of, err := s.read.Account.Query().Where(account.KeyNotNil()).Order(account.ByID()).First(ctx)
	if ent.IsNotFound(err) {
		return "", "", nil, nil
	}
	if err != nil {
		return "", "", nil, wrap("read secrets", err)
	}
	owner, name = ledger.AccountSecret(of.ID)
	return owner, name, *of.Key, nil
}

// EditPluginSettings replaces a plugin's settings, a JSON object, and its sealed
// secrets by what edit makes of them, counts the change in settings_revision,
// ends a quarantine and forgets the last error (they may have been for them) and
// notes in the audit log who made it: all in one transaction, or, when edit
// fails, nothing. Two edits of a plugin cannot overlap. edit gets the column as it
// is, which by SQL can be anything; it may be called more than once, and the
// detail that it returns, for the audit log, must not have a secret.
func (s *Store) EditPluginSettings(ctx context.Context, name, who string,
	edit func(settings json.RawMessage, sealed map[string][]byte) (json.RawMessage, map[string][]byte, string, error),
) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		// First, because on Postgres it makes another edit wait.
		n, err := tx.Plugin.Update().Where(plugin.ID(name)).AddSettingsRevision(1).AddGeneration(1).SetQuarantine("").SetLastError("").ClearLastErrorAt().SetUpdatedAt(s.now()).Save(ctx)
		if err == nil && n == 0 {
			return noPlugin(name)
		}
		if err != nil {
			return err
		}
		detail, err := s.editSettings(ctx, tx, name, edit)
		if err != nil {
			return err
		}
		return s.note(ctx, tx, who, "plugin.settings", name, detail)
	})
	return wrap("change settings", err)
}

func (s *Store) editSettings(ctx context.Context, tx *tx, name string,
	edit func(json.RawMessage, map[string][]byte) (json.RawMessage, map[string][]byte, string, error),
) (string, error) {
	var column []byte
	if err := tx.row(ctx, "SELECT settings FROM plugins WHERE name = $1", []any{name}, &column); err != nil {
		return "", err
	}
	before, err := secretsOf(ctx, tx.PluginSecret, name)
	if err != nil {
		return "", err
	}
	settings, after, detail, err := edit(column, maps.Clone(before))
	if err != nil {
		return "", err
	}
	if settings, err = document("settings", settings); err != nil {
		return "", err
	}
	update := tx.Plugin.Update().Where(plugin.ID(name))
	if settings == nil {
		update.ClearSettings()
	} else {
		update.SetSettings(settings)
	}
	if err := update.Exec(ctx); err != nil {
		return "", err
	}
	return detail, s.replaceSecrets(ctx, tx, name, before, after)
}

func (s *Store) replaceSecrets(ctx context.Context, tx *tx, plugin string, before, after map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] != nil {
			continue
		}
		if _, err := tx.PluginSecret.Delete().Where(pluginsecret.Plugin(plugin), pluginsecret.Name(name)).Exec(ctx); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if bytes.Equal(before[name], after[name]) {
			continue
		}
		if clean(name) != name {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "the name of a secret cannot be stored: %q", name)
		}
		if err := s.putSecret(ctx, tx, plugin, name, after[name]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) putSecret(ctx context.Context, tx *tx, plugin, name string, sealed []byte) error {
	id, err := newID()
	if err != nil {
		return err
	}
	now := s.now()
	return tx.PluginSecret.Create().SetID(id).SetPlugin(plugin).SetName(name).SetValue(sealed).SetUpdatedAt(now).
		OnConflictColumns(pluginsecret.FieldPlugin, pluginsecret.FieldName).
		Update(func(u *ent.PluginSecretUpsert) { u.SetValue(sealed).SetUpdatedAt(now) }).Exec(ctx)
}
