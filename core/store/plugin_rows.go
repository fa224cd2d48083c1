package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/schema"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// pluginColumns are read without ent: operators edit this table by SQL, and a
// value that cannot be read must not hide the other rows.
const pluginColumns = `SELECT name, path, sha256, version, manifest, enabled, position, settings, granted,
	on_failure, state, last_error, last_error_at, restarts, failures, origin, publisher, previous, granted_env, limits, quarantine,
	figures, checks, checked_at, attach, settings_revision, accepted_settings, refused_settings, generation, settled, serving, rejected, grants_version, unconfirmed, updated_at FROM plugins`

// Plugins returns the registry in the operator's order: by position, then by
// name. A row with a value that makes no sense comes without it, and says so in
// Problem.
func (s *Store) Plugins(ctx context.Context) ([]ledger.Plugin, error) {
	plugins, err := s.plugins.of(ctx, s.back, struct{}{}, func() ([]ledger.Plugin, error) {
		rows, err := s.query.QueryContext(ctx, pluginColumns)
		if err != nil {
			return nil, err
		}
		return pluginsOf(rows)
	})
	return slices.Clone(plugins), wrap("list plugins", err)
}

// Version is another one after anybody has committed anything. On Postgres it is not known.
func (s *Store) Version(ctx context.Context) (version int64, known bool) { return s.back.version(ctx) }

// Plugin returns one plugin's row, or CodeNotFound.
func (s *Store) Plugin(ctx context.Context, name string) (ledger.Plugin, error) {
	rows, err := s.query.QueryContext(ctx, pluginColumns+" WHERE name = $1", name)
	if err != nil {
		return ledger.Plugin{}, wrap("read plugin", err)
	}
	plugins, err := pluginsOf(rows)
	if err != nil {
		return ledger.Plugin{}, wrap("read plugin", err)
	}
	if len(plugins) == 0 {
		return ledger.Plugin{}, noPlugin(name)
	}
	return plugins[0], nil
}

func pluginsOf(rows *sql.Rows) (plugins []ledger.Plugin, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		p, err := pluginOf(rows)
		if err != nil {
			return nil, err
		}
		plugins = append(plugins, p)
	}
	slices.SortFunc(plugins, func(a, b ledger.Plugin) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Name, b.Name))
	})
	return plugins, rows.Err()
}

// pluginRow reads a row of the registry value by value.
type pluginRow struct {
	values   map[string]any
	problems []string
}

func pluginOf(rows *sql.Rows) (ledger.Plugin, error) {
	names, err := rows.Columns()
	if err != nil {
		return ledger.Plugin{}, err
	}
	values := make([]any, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return ledger.Plugin{}, err
	}
	row := pluginRow{values: make(map[string]any, len(names))}
	for i, name := range names {
		row.values[name] = values[i]
	}
	return row.info(), nil
}

func (r *pluginRow) info() ledger.Plugin {
	p := ledger.Plugin{
		PluginInfo: pluginsdk.PluginInfo{
			Name: r.text("name"), SHA256: r.text("sha256"), Version: r.text("version"),
			State: pluginsdk.PluginState(r.text("state")), LastError: r.text("last_error"),
			Origin: pluginsdk.PluginOrigin(r.text("origin")), Publisher: r.text("publisher"),
			Quarantine: r.text("quarantine"),
		},
		Path: r.text("path"), Attach: r.text("attach"), Serving: r.text("serving"), Rejected: r.text("rejected"),
	}
	r.read("enabled", (*schema.Switch)(&p.Enabled))
	r.number("position", func(n int64) { p.Position = int(n) })
	r.number("restarts", func(n int64) { p.Restarts = int(n) })
	r.number("failures", func(n int64) { p.Failures = n })
	parse(r, "manifest", &p.Manifest)
	r.number("settings_revision", func(n int64) { p.SettingsRevision = n })
	if accepted := r.text("accepted_settings"); accepted != "" {
		p.Accepted = json.RawMessage(accepted)
	}
	_ = json.Unmarshal([]byte(r.text("refused_settings")), &p.Refused) // damaged by hand: as if there were none
	r.number("generation", func(n int64) { p.Generation = n })
	r.number("settled", func(n int64) { p.Settled = n })
	r.number("grants_version", func(n int64) { p.GrantsVersion = int(n) })
	parse(r, "granted", &p.Granted)
	parse(r, "granted_env", &p.GrantedEnv)
	parse(r, "unconfirmed", &p.Unconfirmed)
	parse(r, "limits", &p.Limits)
	parse(r, "previous", &p.Previous)
	parse(r, "figures", &p.Figures)
	parse(r, "checks", &p.Checks)
	parse(r, "on_failure", &p.OnFailure)
	settings, err := document("settings", json.RawMessage(r.text("settings")))
	if err != nil {
		r.problems = append(r.problems, err.Error())
	}
	p.Settings = settings
	p.UpdatedAt, p.CheckedAt = r.time("updated_at"), r.time("checked_at")
	if p.LastError != "" { // who empties it by SQL leaves its time
		p.LastErrorAt = r.time("last_error_at")
	}
	for hook, mode := range p.OnFailure {
		if mode != pluginsdk.FailOpen && mode != pluginsdk.FailClosed {
			r.problems = append(r.problems, fmt.Sprintf("on_failure: %s is %q; write open or closed", hook, mode))
			delete(p.OnFailure, hook)
		}
	}
	p.Problem = strings.Join(r.problems, "; ")
	return p
}

func (r *pluginRow) text(column string) string {
	switch v := r.values[column].(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	default:
		return fmt.Sprint(v)
	}
}

func (r *pluginRow) time(column string) time.Time {
	at, _ := r.values[column].(time.Time)
	return at.UTC()
}

func (r *pluginRow) read(column string, into sql.Scanner) {
	if err := into.Scan(r.values[column]); err != nil {
		r.problems = append(r.problems, fmt.Sprintf("%s: %s", column, err))
	}
}

func (r *pluginRow) number(column string, set func(int64)) {
	var n sql.NullInt64
	if err := n.Scan(r.values[column]); err != nil {
		r.problems = append(r.problems, fmt.Sprintf("%s: %q is not a number", column, r.text(column)))
		return
	}
	set(n.Int64)
}

// parse reads a JSON column; one that cannot be read changes nothing.
func parse[T any](r *pluginRow, column string, into *T) {
	text := r.text(column)
	if text == "" {
		return
	}
	var value T
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		r.problems = append(r.problems, fmt.Sprintf("%s: %s", column, err))
		return
	}
	*into = value
}

func insertPlugin(into *ent.PluginClient, p ledger.Plugin) (*ent.PluginCreate, error) {
	manifest, err := json.Marshal(p.Manifest)
	if err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "manifest: %w", err)
	}
	create := into.Create().
		SetID(p.Name).SetPath(clean(p.Path)).SetSha256(p.SHA256).SetVersion(clean(p.Version)).
		SetManifest(manifest).SetEnabled(schema.Switch(p.Enabled)).SetPosition(p.Position).SetState(p.State).
		SetLastError(clean(p.LastError)).SetRestarts(p.Restarts).SetFailures(p.Failures).
		SetOrigin(p.Origin).SetPublisher(p.Publisher).SetLimits(p.Limits).SetQuarantine(clean(p.Quarantine)).
		SetFigures(p.Figures).SetAttach(clean(p.Attach)).SetSettingsRevision(p.SettingsRevision).
		SetGeneration(p.Generation).SetSettled(p.Settled).SetServing(p.Serving).SetRejected(p.Rejected).
		SetGrantsVersion(p.GrantsVersion).SetNillableCheckedAt(nullable(p.CheckedAt)).
		SetNillableLastErrorAt(nullable(p.LastErrorAt)).SetUpdatedAt(instant(p.UpdatedAt))
	if p.Previous != nil {
		previous, err := json.Marshal(p.Previous)
		if err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "previous: %w", err)
		}
		create.SetPrevious(previous)
	}
	if p.Checks != nil {
		create.SetChecks(p.Checks)
	}
	if p.GrantedEnv != nil {
		create.SetGrantedEnv(p.GrantedEnv)
	}
	if p.Unconfirmed != nil {
		create.SetUnconfirmed(p.Unconfirmed)
	}
	if p.Accepted != nil {
		create.SetAcceptedSettings(p.Accepted)
	}
	if p.Refused != (ledger.RefusedSettings{}) {
		refused, err := json.Marshal(p.Refused)
		if err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "refused settings: %w", err)
		}
		create.SetRefusedSettings(refused)
	}
	if p.Settings != nil {
		create.SetSettings(p.Settings)
	}
	if p.Granted != nil {
		create.SetGranted(p.Granted)
	}
	if p.OnFailure != nil {
		create.SetOnFailure(p.OnFailure)
	}
	return create, nil
}
