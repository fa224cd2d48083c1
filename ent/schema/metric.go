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

// Fields of a metric.
func (Metric) Fields() []ent.Field {
	return []ent.Field{
		serialField(),
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
	}
}
