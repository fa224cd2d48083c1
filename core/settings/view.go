package settings

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// From says where a setting's value comes from.
type From string

// Where values come from.
const (
	FromNowhere  From = ""         // there is none
	FromDefault  From = "default"  // the plugin's schema
	FromOperator From = "operator" // somebody set it
)

// Row is one setting as an operator may see it.
type Row struct {
	Property
	From From
	// Value is empty for secrets, and for what the schema does not declare:
	// nothing says that it is no secret.
	Value      json.RawMessage
	Undeclared bool // somebody set it, and the plugin does not know it
}

// View returns a registered plugin's settings without secrets: of the plain
// ones, those that its schema declares, and defaults.
func (s *Settings) View(ctx context.Context, plugin string) (pluginsdk.SettingsView, error) {
	rows, info, err := s.rows(ctx, plugin)
	if err != nil {
		return pluginsdk.SettingsView{}, err
	}
	view := pluginsdk.SettingsView{Schema: info.Manifest.SettingsSchema}
	values := make(map[string]json.RawMessage)
	for _, row := range rows {
		switch {
		case row.Secret && row.From == FromOperator:
			view.SecretsSet = append(view.SecretsSet, row.Name)
		case len(row.Value) > 0:
			values[row.Name] = row.Value
		}
	}
	view.Values = encode(values)
	return view, nil
}

// Rows returns what View does, for people: a row for each setting that the
// plugin declares or that somebody set, and what is wrong with them.
func (s *Settings) Rows(ctx context.Context, plugin string) (rows []Row, problem string, err error) {
	rows, info, err := s.rows(ctx, plugin)
	if err != nil {
		return nil, "", err
	}
	return rows, s.Problem(ctx, info), nil
}

func (s *Settings) rows(ctx context.Context, plugin string) ([]Row, ledger.Plugin, error) {
	info, err := s.store.Plugin(ctx, plugin)
	if err != nil {
		return nil, info, err
	}
	schema, err := s.memory(info).compile()
	if err != nil {
		return nil, info, err
	}
	sealed, err := s.store.PluginSecrets(ctx, plugin)
	if err != nil {
		return nil, info, err
	}
	stored := readColumn(schema, info)
	filled := schema.fill(stored.values)
	var rows []Row
	for _, property := range schema.Properties() {
		row := Row{Property: property, Value: filled[property.Name]}
		_, set := stored.values[property.Name]
		switch {
		case property.Secret:
			row.Value, set = nil, sealed[property.Name] != nil
		case !set && len(row.Value) > 0:
			row.From = FromDefault
		}
		if set {
			row.From = FromOperator
		}
		rows = append(rows, row)
	}
	return append(rows, undeclared(schema, stored.values, sealed)...), info, nil
}

// undeclared are the settings that somebody set and the schema does not have.
func undeclared(schema *Schema, plain map[string]json.RawMessage, sealed map[string][]byte) (rows []Row) {
	names := append(slices.Collect(maps.Keys(plain)), slices.Collect(maps.Keys(sealed))...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if _, declared := schema.Property(name); !declared {
			rows = append(rows, Row{Property: Property{Name: name, Secret: sealed[name] != nil}, From: FromOperator, Undeclared: true})
		}
	}
	return rows
}

// RowsOf returns the rows of a view, for who has no more than that: a value that is the
// default counts as one that nobody has set.
func RowsOf(view pluginsdk.SettingsView) ([]Row, *Schema, error) {
	schema, err := Compile(view.Schema)
	if err != nil {
		return nil, nil, err
	}
	values, err := object(view.Values)
	if err != nil {
		return nil, nil, err
	}
	defaults := schema.fill(map[string]json.RawMessage{})
	var rows []Row
	for _, property := range schema.Properties() {
		row := Row{Property: property, Value: values[property.Name]}
		switch {
		case property.Secret:
			row.Value = nil
			if slices.Contains(view.SecretsSet, property.Name) {
				row.From = FromOperator
			}
		case len(row.Value) == 0:
		case sameJSON(row.Value, defaults[property.Name]):
			row.From = FromDefault
		default:
			row.From = FromOperator
		}
		rows = append(rows, row)
	}
	return rows, schema, nil
}

// sameJSON reports whether two texts are the same value.
func sameJSON(a, b json.RawMessage) bool {
	first, errA := decode(a)
	second, errB := decode(b)
	return errA == nil && errB == nil && reflect.DeepEqual(first, second)
}
