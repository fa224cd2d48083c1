package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Metric is the table metrics; see pluginsdk.Metric.
type Metric struct {
	ent.Schema
}

// Fields of a metric. The key is the plugin's, and NULL when there is none.
func (Metric) Fields() []ent.Field {
	return []ent.Field{
		serialField(),
		field.String("plugin").Default("").Immutable(),
		field.String("key").Optional().Nillable().Immutable(),
		field.String("name").Immutable(),
		field.Float("value"),
		jsonField("tags", map[string]string{}),
		field.String("thread_id").Default(""),
		field.Time("created_at").Immutable(),
	}
}

// Indexes of metrics.
func (Metric) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("name", "created_at"),
		index.Fields("plugin", "key").Unique(),
	}
}
