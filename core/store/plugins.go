package store

import (
	"context"
	"encoding/json"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/plugin"
	"github.com/seed-706843ae/harness/ent/schema"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// InstallPlugin makes a version of a plugin the one that is started: path, pin,
// version, manifest, origin, publisher and previous versions are replaced, a
// quarantine ends, and the last error is forgotten. The rest of a row that exists
// is the operator's; a new one is off, without grants, and last in the order.
func (s *Store) InstallPlugin(ctx context.Context, p ledger.Plugin) error {
	if p.Name == "" {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: a plugin needs one")
	}
	manifest, err := json.Marshal(p.Manifest)
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "manifest: %w", err)
	}
	previous, err := json.Marshal(p.Previous)
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "previous: %w", err)
	}
	p.Enabled, p.Granted, p.GrantedEnv, p.Quarantine = false, nil, nil, ""
	p.State, p.UpdatedAt = pluginsdk.PluginDisabled, s.now()
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		known, err := tx.Plugin.Update().Where(plugin.ID(p.Name)).
			SetPath(clean(p.Path)).SetSha256(p.SHA256).SetVersion(clean(p.Version)).SetManifest(manifest).
			SetOrigin(p.Origin).SetPublisher(p.Publisher).SetPrevious(previous).SetQuarantine("").SetLastError("").ClearLastErrorAt().
			AddGeneration(1).SetUpdatedAt(p.UpdatedAt).
			Save(ctx)
		if err != nil || known > 0 {
			return err
		}
		if p.Position, err = tx.lastPosition(ctx); err != nil {
			return err
		}
		return tx.addPlugin(ctx, p)
	})
	return wrap("install plugin", err)
}

// positionStep leaves room between two plugins for an operator's own.
const positionStep = 10

// RegisterPlugin makes a plugin known. A new name gets the row as it is given;
// of a known one only origin, path and sha256 change: the rest is the operator's.
func (s *Store) RegisterPlugin(ctx context.Context, p ledger.Plugin) error {
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
			Update(func(u *ent.PluginUpsert) { u.SetPath(clean(p.Path)).SetSha256(p.SHA256).SetOrigin(p.Origin) }).Exec(ctx)
	})
	return wrap("register plugin", err)
}

// SetPluginEnabled turns a plugin on or off. Turning on ends a quarantine.
func (s *Store) SetPluginEnabled(ctx context.Context, name string, enabled bool) error {
	return s.updatePlugin(ctx, durable, name, func(u *ent.PluginUpdate) {
		u.SetEnabled(schema.Switch(enabled)).AddGeneration(1)
		if enabled {
			u.SetQuarantine("")
		}
	})
}

// SetPluginGrants replaces the capabilities and the environment variables a
// plugin has.
func (s *Store) SetPluginGrants(ctx context.Context, name string, granted []pluginsdk.Capability, env []string) error {
	return s.updatePlugin(ctx, durable, name, func(u *ent.PluginUpdate) { u.SetGranted(granted).SetGrantedEnv(env) })
}

// SetPluginQuarantine says why a plugin is not to be started any more; an empty
// reason lets it be started again.
func (s *Store) SetPluginQuarantine(ctx context.Context, name, reason string) error {
	return s.updatePlugin(ctx, durable, name, func(u *ent.PluginUpdate) { u.SetQuarantine(clean(reason)) })
}

// SavePluginFigures keeps a plugin's figures for who looks when it is down.
func (s *Store) SavePluginFigures(ctx context.Context, name string, figures pluginsdk.PluginFigures) error {
	return s.updatePlugin(ctx, relaxed, name, func(u *ent.PluginUpdate) { u.SetFigures(figures) })
}

// SavePluginChecks keeps what a plugin says, now, of its surroundings.
func (s *Store) SavePluginChecks(ctx context.Context, name string, checks []pluginsdk.Check) error {
	now := s.now()
	return s.updatePlugin(ctx, relaxed, name, func(u *ent.PluginUpdate) { u.SetChecks(checks).SetCheckedAt(now) })
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

// SavePluginSeen notes what is seen of a plugin.
func (s *Store) SavePluginSeen(ctx context.Context, name string, seen ledger.PluginSeen) error {
	refused, err := json.Marshal(seen.Refused)
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "refused settings: %w", err)
	}
	return s.updatePlugin(ctx, relaxed, name, func(u *ent.PluginUpdate) {
		u.SetState(seen.State).SetLastError(clean(seen.LastError)).SetRestarts(seen.Restarts).
			SetSettled(seen.Settled).SetServing(seen.Serving).SetRejected(seen.Rejected)
		if at := nullable(seen.LastErrorAt); at != nil {
			u.SetLastErrorAt(*at)
		} else {
			u.ClearLastErrorAt()
		}
		if seen.Refused == (ledger.RefusedSettings{}) {
			u.ClearRefusedSettings()
		} else {
			u.SetRefusedSettings(refused)
		}
	})
}

// SavePluginAccepted keeps the settings that a plugin has taken.
func (s *Store) SavePluginAccepted(ctx context.Context, name string, accepted ledger.AcceptedSettings) error {
	raw, err := json.Marshal(accepted)
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "accepted settings: %w", err)
	}
	return s.updatePlugin(ctx, relaxed, name, func(u *ent.PluginUpdate) { u.SetAcceptedSettings(raw) })
}

// AddPluginFailures counts n failed hooks against a plugin.
func (s *Store) AddPluginFailures(ctx context.Context, name string, n int64) error {
	return s.updatePlugin(ctx, relaxed, name, func(u *ent.PluginUpdate) { u.AddFailures(n) })
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
