package store

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/plugin"
	"github.com/seed-706843ae/harness/ent/schema"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// EditPlugin changes a plugin's row by what edit makes of it, and notes in the
// audit log who did what to it, with the detail that edit returns: all in one
// transaction, or, when edit fails, nothing. Two edits of a plugin cannot
// overlap. edit may be called more than once. What it can change is what an
// operator decides: which version is started (path, pin, version, manifest,
// origin, publisher, previous versions), enabled, position, grants and whose
// release they are of, limits, OnFailure, quarantine and the last error; not the
// settings (see EditPluginSettings). It is a generation more.
func (s *Store) EditPlugin(ctx context.Context, name, who, action string, edit func(row *ledger.Plugin) (detail string, err error)) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		rows, err := tx.plugins(ctx, " WHERE name = $1", name)
		if err == nil && len(rows) == 0 {
			return noPlugin(name)
		}
		if err != nil {
			return err
		}
		row := rows[0]
		before := row
		before.Granted, before.GrantedEnv, before.Previous = slices.Clone(row.Granted), slices.Clone(row.GrantedEnv), slices.Clone(row.Previous)
		before.OnFailure = maps.Clone(row.OnFailure)
		detail, err := edit(&row)
		if err != nil {
			return err
		}
		if err := s.writePlugin(ctx, tx, before, row); err != nil {
			return err
		}
		return s.note(ctx, tx, who, action, name, detail)
	})
	return wrap("change plugin", err)
}

// AddPlugin makes a plugin known that was not, last in the order, with all that an
// operator has decided of it, and notes in the audit log who did. CodeConflict:
// it is known already.
func (s *Store) AddPlugin(ctx context.Context, p ledger.Plugin, who, action, detail string) error {
	if p.Name == "" {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: a plugin needs one")
	}
	p.State, p.UpdatedAt = pluginsdk.PluginDisabled, s.now()
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if err := tx.addPlugin(ctx, p); err != nil {
			if duplicate(err) {
				return pluginsdk.Errorf(pluginsdk.CodeConflict, "a plugin is registered under the name %q already", p.Name)
			}
			return err
		}
		return s.note(ctx, tx, who, action, p.Name, detail)
	})
	return wrap("add plugin", err)
}

func (t *tx) addPlugin(ctx context.Context, p ledger.Plugin) error {
	if err := t.row(ctx, "SELECT COALESCE(MAX(position), 0) FROM plugins", nil, &p.Position); err != nil {
		return err
	}
	p.Position += positionStep
	p.Generation = 1
	insert, err := insertPlugin(t.Plugin, p)
	if err != nil {
		return err
	}
	return insert.Exec(ctx)
}

// ArrangePlugins puts the plugins into the order that arrange makes of the one in
// which they are, and notes in the audit log who did. arrange may be called more
// than once.
func (s *Store) ArrangePlugins(ctx context.Context, who, target string, arrange func(rows []ledger.Plugin) (names []string, detail string, err error)) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		rows, err := tx.plugins(ctx, "")
		if err != nil {
			return err
		}
		names, detail, err := arrange(slices.Clone(rows))
		if err != nil {
			return err
		}
		for _, row := range rows {
			position := (slices.Index(names, row.Name) + 1) * positionStep
			if position == 0 || position == row.Position {
				continue
			}
			if err := tx.Plugin.Update().Where(plugin.ID(row.Name)).SetPosition(position).SetUpdatedAt(s.now()).Exec(ctx); err != nil {
				return err
			}
		}
		return s.note(ctx, tx, who, "plugin.order", target, detail)
	})
	return wrap("order plugins", err)
}

// plugins reads rows to change them. On Postgres nobody else can meanwhile.
func (t *tx) plugins(ctx context.Context, where string, args ...any) ([]ledger.Plugin, error) {
	// A write, because on Postgres it makes another one wait.
	if _, err := t.run(ctx, "UPDATE plugins SET updated_at = updated_at"+where, args...); err != nil {
		return nil, err
	}
	rows, err := t.exec.QueryContext(ctx, pluginColumns+where, args...)
	if err != nil {
		return nil, err
	}
	return pluginsOf(rows)
}

// writePlugin writes what was changed. The rest stays as it is, also when it
// makes no sense: what an operator has mistyped is theirs to mend.
func (s *Store) writePlugin(ctx context.Context, tx *tx, before, after ledger.Plugin) error {
	update := tx.Plugin.Update().Where(plugin.ID(before.Name)).SetUpdatedAt(s.now()).
		SetPath(clean(after.Path)).SetSha256(after.SHA256).SetVersion(clean(after.Version)).SetOrigin(after.Origin).
		SetPublisher(after.Publisher).SetEnabled(schema.Switch(after.Enabled)).SetPosition(after.Position).
		SetQuarantine(clean(after.Quarantine)).SetLastError(clean(after.LastError)).SetGrantsVersion(after.GrantsVersion).AddGeneration(1)
	if !reflect.DeepEqual(before.Manifest, after.Manifest) {
		manifest, err := json.Marshal(after.Manifest)
		if err != nil {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "manifest: %w", err)
		}
		update.SetManifest(manifest)
	}
	if !reflect.DeepEqual(before.Previous, after.Previous) {
		previous, err := json.Marshal(after.Previous)
		if err != nil {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "previous: %w", err)
		}
		update.SetPrevious(previous)
	}
	ifChanged(before.Granted, after.Granted, update.SetGranted)
	ifChanged(before.GrantedEnv, after.GrantedEnv, update.SetGrantedEnv)
	ifChanged(before.Limits, after.Limits, update.SetLimits)
	ifChanged(before.OnFailure, after.OnFailure, update.SetOnFailure)
	return update.Exec(ctx)
}

func ifChanged[T any](before, after T, set func(T) *ent.PluginUpdate) {
	if !reflect.DeepEqual(before, after) {
		set(after)
	}
}
