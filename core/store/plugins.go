package store

import (
	"context"
	"encoding/json"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/plugin"
	"github.com/seed-706843ae/harness/ent/schema"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// RegisterPlugin makes a plugin known. A new name gets the row as it is given;
// of a known one only path and sha256 change: the rest is the operator's.
func (s *Store) RegisterPlugin(ctx context.Context, p pluginsdk.PluginInfo) error {
	if p.Name == "" {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: a plugin needs one")
	}
	settings, err := document("settings", p.Settings)
	if err != nil {
		return err
	}
	p.Settings, p.UpdatedAt = settings, s.now()
	if p.State == "" {
		p.State = pluginsdk.PluginDisabled
	}
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		insert, err := insertPlugin(tx.Plugin, p)
		if err != nil {
			return err
		}
		return insert.OnConflictColumns(plugin.FieldID).
			Update(func(u *ent.PluginUpsert) { u.SetPath(clean(p.Path)).SetSha256(p.SHA256) }).Exec(ctx)
	})
	return wrap("register plugin", err)
}

// SetPluginEnabled turns a plugin on or off.
func (s *Store) SetPluginEnabled(ctx context.Context, name string, enabled bool) error {
	return s.updatePlugin(ctx, durable, name, func(u *ent.PluginUpdate) { u.SetEnabled(schema.Switch(enabled)) })
}

// SetPluginPosition moves a plugin in the order of hooks: lower comes earlier,
// equal ones by name.
func (s *Store) SetPluginPosition(ctx context.Context, name string, position int) error {
	return s.updatePlugin(ctx, durable, name, func(u *ent.PluginUpdate) { u.SetPosition(position) })
}

// SetPluginSettings replaces a plugin's settings, a JSON object.
func (s *Store) SetPluginSettings(ctx context.Context, name string, settings json.RawMessage) error {
	settings, err := document("settings", settings)
	if err != nil {
		return err
	}
	return s.updatePlugin(ctx, durable, name, func(u *ent.PluginUpdate) {
		if settings == nil {
			u.ClearSettings()
		} else {
			u.SetSettings(settings)
		}
	})
}

// SetPluginGranted replaces the capabilities a plugin has.
func (s *Store) SetPluginGranted(ctx context.Context, name string, granted []pluginsdk.Capability) error {
	return s.updatePlugin(ctx, durable, name, func(u *ent.PluginUpdate) { u.SetGranted(granted) })
}

// SetPluginOnFailure replaces the operator's word on failing hooks.
func (s *Store) SetPluginOnFailure(ctx context.Context, name string, modes map[pluginsdk.Hook]pluginsdk.OnFailure) error {
	return s.updatePlugin(ctx, durable, name, func(u *ent.PluginUpdate) { u.SetOnFailure(modes) })
}

// SavePluginManifest keeps what a plugin last said about itself.
func (s *Store) SavePluginManifest(ctx context.Context, name string, manifest pluginsdk.Manifest) error {
	raw, err := json.Marshal(manifest)
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "manifest: %w", err)
	}
	return s.updatePlugin(ctx, relaxed, name, func(u *ent.PluginUpdate) {
		u.SetManifest(raw).SetVersion(clean(manifest.Version))
	})
}

// SavePluginState notes what the supervisor sees.
func (s *Store) SavePluginState(ctx context.Context, name string, state pluginsdk.PluginState, lastError string, restarts int) error {
	return s.updatePlugin(ctx, relaxed, name, func(u *ent.PluginUpdate) {
		u.SetState(state).SetLastError(clean(lastError)).SetRestarts(restarts)
	})
}

// AddPluginFailures counts n failed hooks against a plugin.
func (s *Store) AddPluginFailures(ctx context.Context, name string, n int64, lastError string) error {
	return s.updatePlugin(ctx, relaxed, name, func(u *ent.PluginUpdate) {
		u.AddFailures(n).SetLastError(clean(lastError))
	})
}

// DeletePlugin removes a plugin's row and all of its state.
func (s *Store) DeletePlugin(ctx context.Context, name string) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		n, err := tx.run(ctx, "DELETE FROM plugins WHERE name = $1", name)
		if err == nil && n == 0 {
			return noPlugin(name)
		}
		if err == nil {
			_, err = tx.run(ctx, "DELETE FROM plugin_states WHERE plugin = $1", name)
		}
		return err
	})
	return wrap("delete plugin", err)
}

func (s *Store) updatePlugin(ctx context.Context, how durability, name string, set func(*ent.PluginUpdate)) error {
	now := s.now()
	err := s.write.do(ctx, how, func(ctx context.Context, tx *tx) error {
		update := tx.Plugin.Update().Where(plugin.ID(name)).SetUpdatedAt(now)
		set(update)
		n, err := update.Save(ctx)
		if err == nil && n == 0 {
			return noPlugin(name)
		}
		return err
	})
	return wrap("update plugin", err)
}

func noPlugin(name string) error {
	return pluginsdk.Errorf(pluginsdk.CodeNotFound, "no plugin is registered under the name %q", name)
}
