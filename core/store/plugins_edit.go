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

// ChangePlugin changes a plugin's row by what the change makes of it, with all other
// rows in view, and notes in the audit log who did: all in one transaction, or, when
// the change fails, nothing. No other decision about any plugin overlaps with it. What
// it can change is what an operator decides: which version is started (path, pin,
// version, manifest, origin, publisher, previous versions), enabled, position, grants
// whose release they are of and which are unconfirmed, limits, OnFailure, quarantine, the last error and
// where it is attached to; not the settings (EditPluginSettings, in secrets.go). It is a
// generation more.
func (s *Store) ChangePlugin(ctx context.Context, change ledger.PluginChange) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		all, err := tx.plugins(ctx, "")
		if err != nil {
			return err
		}
		place := slices.IndexFunc(all, func(row ledger.Plugin) bool { return row.Name == change.Name })
		if place < 0 {
			return noPlugin(change.Name)
		}
		return s.changePlugin(ctx, tx, change, all[place], all)
	})
	return wrap("change plugin", err)
}

// EditPlugin is ChangePlugin for what only looks at the row itself: nobody who decides
// of another plugin waits for it.
func (s *Store) EditPlugin(ctx context.Context, name, who, action string, edit func(row *ledger.Plugin) (detail string, err error)) error {
	change := ledger.PluginChange{
		Name: name, Who: who, Action: action,
		Edit: func(row *ledger.Plugin, _ []ledger.Plugin) (string, error) { return edit(row) },
	}
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		rows, err := tx.plugins(ctx, " WHERE name = $1", name)
		if err == nil && len(rows) == 0 {
			return noPlugin(name)
		}
		if err != nil {
			return err
		}
		return s.changePlugin(ctx, tx, change, rows[0], nil)
	})
	return wrap("change plugin", err)
}

func (s *Store) changePlugin(ctx context.Context, tx *tx, change ledger.PluginChange, row ledger.Plugin, all []ledger.Plugin) error {
	before := row
	before.Granted, before.GrantedEnv, before.Previous = slices.Clone(row.Granted), slices.Clone(row.GrantedEnv), slices.Clone(row.Previous)
	before.OnFailure, before.Unconfirmed = maps.Clone(row.OnFailure), slices.Clone(row.Unconfirmed)
	detail, err := change.Edit(&row, slices.Clone(all))
	if err != nil {
		return err
	}
	if err := s.writePlugin(ctx, tx, before, row); err != nil {
		return err
	}
	return s.note(ctx, tx, change.Who, change.Action, change.Name, detail)
}

// AddPlugin makes a plugin known that was not, last in the order, with all that the
// change makes of its row, and notes in the audit log who did: all in one transaction.
// CodeConflict: it is known already.
func (s *Store) AddPlugin(ctx context.Context, change ledger.PluginChange) error {
	if change.Name == "" {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: a plugin needs one")
	}
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		all, err := tx.plugins(ctx, "")
		if err != nil {
			return err
		}
		row := ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: change.Name}}
		if row.Position, err = tx.lastPosition(ctx); err != nil {
			return err
		}
		detail, err := change.Edit(&row, all)
		if err != nil {
			return err
		}
		row.Name, row.State, row.UpdatedAt = change.Name, pluginsdk.PluginDisabled, s.now()
		if err := tx.addPlugin(ctx, row); err != nil {
			if duplicate(err) {
				return pluginsdk.Errorf(pluginsdk.CodeConflict, "a plugin is registered under the name %q already", change.Name)
			}
			return err
		}
		return s.note(ctx, tx, change.Who, change.Action, change.Name, detail)
	})
	return wrap("add plugin", err)
}

// RemovePlugin takes a plugin's row out of the registry with, unless they are to be
// kept, all of its state and its secrets, and notes in the audit log who did: all in
// one transaction. What it has written into threads stays, and counts for it; what it has asked for and
// nobody has begun is cancelled.
func (s *Store) RemovePlugin(ctx context.Context, removal ledger.PluginRemoval) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		rows, err := tx.plugins(ctx, " WHERE name = $1", removal.Name)
		if err == nil && len(rows) == 0 {
			return noPlugin(removal.Name)
		}
		if err != nil {
			return err
		}
		detail, err := removal.Detail(rows[0])
		if err != nil {
			return err
		}
		if _, err := tx.run(ctx, "DELETE FROM plugins WHERE name = $1", removal.Name); err != nil {
			return err
		}
		if !slices.Contains(s.config.Carriers, removal.Name) {
			if err := tx.cancelOf(ctx, removal.Name, "cancelled: the plugin "+removal.Name+" was removed", s.now()); err != nil {
				return err
			}
		}
		if !removal.KeepState {
			if err := tx.forgetState(ctx, removal.Name); err != nil {
				return err
			}
		}
		return s.note(ctx, tx, removal.Who, "plugin.remove", removal.Name, detail)
	})
	return wrap("remove plugin", err)
}

func (t *tx) forgetState(ctx context.Context, plugin string) error {
	used, err := t.usageOf(ctx, plugin) // nobody adds to its state meanwhile
	for _, table := range []string{"plugin_states", "plugin_secrets"} {
		if err == nil {
			_, err = t.run(ctx, "DELETE FROM "+table+" WHERE plugin = $1", plugin)
		}
	}
	if err != nil {
		return err
	}
	return t.setUsage(ctx, plugin, usage{revision: used.revision})
}

// lastPosition is the place of a plugin that is added.
func (t *tx) lastPosition(ctx context.Context) (position int, err error) {
	err = t.row(ctx, "SELECT COALESCE(MAX(position), 0) FROM plugins", nil, &position)
	return position + positionStep, err
}

func (t *tx) addPlugin(ctx context.Context, p ledger.Plugin) error {
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
			if err := tx.Plugin.Update().Where(plugin.ID(row.Name)).SetPosition(position).AddGeneration(1).SetUpdatedAt(s.now()).Exec(ctx); err != nil {
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
		SetQuarantine(clean(after.Quarantine)).SetLastError(clean(after.LastError)).SetGrantsVersion(after.GrantsVersion).
		SetAttach(clean(after.Attach)).AddGeneration(1)
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
	if after.LastError == "" {
		update.ClearLastErrorAt()
	}
	ifChanged(before.Granted, after.Granted, update.SetGranted)
	ifChanged(before.GrantedEnv, after.GrantedEnv, update.SetGrantedEnv)
	ifChanged(before.Unconfirmed, after.Unconfirmed, update.SetUnconfirmed)
	ifChanged(before.Limits, after.Limits, update.SetLimits)
	ifChanged(before.OnFailure, after.OnFailure, update.SetOnFailure)
	return update.Exec(ctx)
}

func ifChanged[T any](before, after T, set func(T) *ent.PluginUpdate) {
	if !reflect.DeepEqual(before, after) {
		set(after)
	}
}
