package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// CronJob is the table cron_jobs; see pluginsdk.CronJob.
type CronJob struct {
	ent.Schema
}

// Fields of a cron job.
func (CronJob) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		field.String("name").Unique(),
		field.String("schedule").Default(""),
		field.Time("fire_at").Optional().Nillable(),
		field.String("timezone").Default("America/Phoenix"),
		field.Text("prompt"),
		field.String("thread_id").Default(""),
		field.String("target").Default(""),
		switchField("enabled"),
		field.String("missed").GoType(pluginsdk.MissedPolicy("")).Default(string(pluginsdk.MissedSkip)),
		field.String("lateness").Default("").Comment("a duration such as 90m; empty: what pluginsdk.CronSpec says"),
		field.String("overlap").GoType(pluginsdk.OverlapPolicy("")).Default(""),
		field.String("jitter").Default("").Comment("a duration such as 5m"),
		field.Time("until").Optional().Nillable(),
		field.String("except").Default("").Comment("days, with commas between them"),
		field.String("hours").Default(""),
		field.String("report").GoType(pluginsdk.CronReport("")).Default(""),
		field.String("session").GoType(pluginsdk.TurnSession("")).Default(""),
		field.Float("cost_cap_usd").Default(0),
		field.String("timeout").Default("").Comment("a duration such as 5m"),
		switchField("if_room"),
		field.Text("when_command").Default(""),
		field.String("model").Default(""),
		field.String("permission_mode").Default(""),
		field.Text("tools").Default("").Comment("rules, one a line"),
		field.String("trigger").Default(""),
		field.String("keep").Default("").Comment("a duration such as 720h; empty: what pluginsdk.CronSpec says"),
		field.Time("last_run").Optional().Nillable(),
		field.Time("next_run").Optional().Nillable(),
		field.Text("last_result").Default(""),
		field.Int("failures").Default(0),
		field.Text("mark").Default(""),
		field.Time("created_at").Immutable(),
	}
}
