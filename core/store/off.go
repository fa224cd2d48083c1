package store

import (
	"context"
	"errors"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/ent/predicate"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Runs of plugins that are turned off. A message that a plugin has submitted, and a turn that
// it has asked for, are not begun while an operator has the plugin turned off; they wait in
// their queue, where they stand in nobody's way, and are begun once the plugin is on again.
// Who wrote a message only its plugin knows, so none of them is dropped: `/stop all` does that
// in a thread, and the removal of the plugin everywhere. What the plugins of Config.Carriers
// bring is begun all the same.

// pluginOfRun is, in SQL, the plugin that has submitted a run's message or asked for its turn.
const pluginOfRun = "CASE WHEN runs.kind = 'turn' THEN runs.plugin ELSE (SELECT m.plugin FROM messages m WHERE m.id = runs.message_id) END"

// notOff returns the condition, as the end of a WHERE, that leaves out the runs of plugins
// that are turned off.
func notOff(carriers []string) string {
	return " AND NOT EXISTS (" + offPlugins(carriers) + " AND p.name = " + pluginOfRun + ")"
}

// offPlugins selects the plugins p that are turned off, however an operator has written that
// by hand (schema.Switch).
func offPlugins(carriers []string) string {
	but := ""
	if len(carriers) > 0 {
		but = " AND p.name NOT IN (" + literals(carriers) + ")"
	}
	return "SELECT 1 FROM plugins p WHERE LOWER(TRIM(CAST(p.enabled AS TEXT))) IN ('0', 'false', 'f', 'no', 'off')" + but
}

func literals(names []string) string {
	list := make([]string, len(names))
	for n, name := range names {
		list[n] = "'" + strings.ReplaceAll(name, "'", "''") + "'"
	}
	return strings.Join(list, ", ")
}

// whichAreOn is notOff for queries of ent's.
func (s *Store) whichAreOn() predicate.Run {
	condition := strings.TrimPrefix(s.on, " AND ")
	return func(selector *entsql.Selector) {
		selector.Where(entsql.P(func(b *entsql.Builder) { b.WriteString(condition) }))
	}
}

// WaitingForPlugins returns how many runs wait until their plugin is turned on again, by plugin.
func (s *Store) WaitingForPlugins(ctx context.Context) (waiting map[string]int, err error) {
	rows, err := s.query.QueryContext(ctx, "SELECT "+pluginOfRun+" AS of, COUNT(*) FROM runs WHERE state = 'queued' AND "+
		strings.TrimPrefix(s.on, " AND NOT ")+" GROUP BY 1")
	if err != nil {
		return nil, wrap("count the runs of plugins that are turned off", err)
	}
	defer func() { err = wrap("count the runs of plugins that are turned off", errors.Join(err, rows.Close())) }()
	waiting = make(map[string]int)
	for rows.Next() {
		var plugin string
		var n int
		if err := rows.Scan(&plugin, &n); err != nil {
			return nil, err
		}
		waiting[plugin] = n
	}
	return waiting, rows.Err()
}

// cancelOf ends the runs of a plugin that wait, and have no answer yet, for a reason in words.
func (t *tx) cancelOf(ctx context.Context, plugin, reason string, now time.Time) error {
	return t.Run.Update().Where(run.StateEQ(pluginsdk.RunQueued), run.StepNEQ(pluginsdk.StepInvoked), func(s *entsql.Selector) {
		s.Where(entsql.P(func(b *entsql.Builder) { b.WriteString(pluginOfRun + " = ").Arg(plugin) }))
	}).SetState(pluginsdk.RunCancelled).SetError(clean(reason)).SetFinishedAt(now).ClearNextAttemptAt().Exec(ctx)
}
