package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Plugin is the table plugins, the registry; see ledger.Plugin.
// Operators edit it by SQL: no column but the name has to be given.
type Plugin struct {
	ent.Schema
}

// Fields of a plugin. The manifest is what the plugin said, valid or not: ent
// would refuse to store a pluginsdk.Manifest that is not.
func (Plugin) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").StorageKey("name").Immutable(),
		field.String("path").Default(""),
		field.String("sha256").Default(""),
		field.String("version").Default(""),
		jsonField("manifest", json.RawMessage{}),
		switchField("enabled"),
		field.Int("position").Default(1000),
		jsonField("settings", json.RawMessage{}),
		jsonField("granted", []pluginsdk.Capability{}),
		jsonField("on_failure", map[pluginsdk.Hook]pluginsdk.OnFailure{}),
		field.String("state").GoType(pluginsdk.PluginState("")).Default(string(pluginsdk.PluginDisabled)),
		field.Text("last_error").Default(""),
		field.Time("last_error_at").Optional().Nillable(),
		field.Int("restarts").Default(0),
		field.Int64("failures").Default(0),
		field.String("origin").GoType(pluginsdk.PluginOrigin("")).Default(""),
		field.String("publisher").Default(""),
		jsonField("previous", json.RawMessage{}), // of ledger.PluginVersion
		jsonField("granted_env", []string{}),
		jsonField("unconfirmed", []pluginsdk.Capability{}),
		jsonField("limits", pluginsdk.PluginLimits{}),
		field.Text("quarantine").Default(""),
		jsonField("figures", pluginsdk.PluginFigures{}),
		jsonField("checks", []pluginsdk.Check{}),
		field.Time("checked_at").Optional().Nillable(),
		field.Text("attach").Default(""),
		field.Int64("settings_revision").Default(0),
		jsonField("accepted_settings", json.RawMessage{}), // of ledger.AcceptedSettings
		jsonField("refused_settings", json.RawMessage{}),  // of ledger.RefusedSettings
		field.Int64("generation").Default(0),
		field.Int64("settled").Default(0),
		field.String("serving").Default(""),
		field.String("rejected").Default(""),
		field.Int("grants_version").Default(0),
		field.Time("updated_at").Optional().Nillable(),
	}
}
