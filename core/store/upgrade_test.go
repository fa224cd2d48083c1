package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// before opens a database whose schema is of an older version, to be filled.
func before(t *testing.T, config store.Config, version int, fill func(s *store.Store)) {
	t.Helper()
	check(t, store.MigrateTo(context.Background(), config, version))
	config.Schema = store.SchemaAny
	s := must[*store.Store](t)(store.Open(context.Background(), config))
	fill(s)
	check(t, s.Close())
}

// parsed are the rows of a table as a backup has them, column by column.
func parsed(t *testing.T, rows []string) []map[string]any {
	t.Helper()
	out := make([]map[string]any, len(rows))
	for i, row := range rows {
		check(t, json.Unmarshal([]byte(row), &out[i]))
	}
	return out
}

// An upgrade must not lose anybody a row, nor change a word in one.
func TestUpgradeToTheSecondContractKeepsEverything(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		var old map[string][]string
		before(t, config, 5, func(s *store.Store) {
			fillTables(t, s)
			old = dump(t, s)
		})
		s := storetest.OpenConfig(t, config)
		now := dump(t, s)
		renamed := map[string]string{"plugins.ledger": "figures"}
		if len(old) < 13 {
			t.Fatalf("only %d tables were filled", len(old))
		}
		for table, rows := range old {
			is := parsed(t, now[table])
			for i, want := range parsed(t, rows) {
				for column, value := range want {
					if table+"."+column == "threads.report_to" {
						continue // that one is given another form; see TestUpgradeKeepsWhereRepliesGo
					}
					name := column
					if other := renamed[table+"."+column]; other != "" {
						name = other
					}
					if len(is) != len(rows) || !reflect.DeepEqual(is[i][name], value) {
						t.Fatalf("%s.%s of row %d (of %d, now %d): %v became %v", table, column, i+1, len(rows), len(is), value, is[i][name])
					}
				}
			}
		}
	})
}

// Where the replies of a thread went before the upgrade they go after it, and
// nobody is sent what nobody was sent, wherever the primary thread's replies go.
func TestUpgradeKeepsWhereRepliesGo(t *testing.T) {
	type thread struct{ id, source, sourceID, reportTo, want string }
	threads := []thread{
		{"W", "web", "x", "web", "nobody"},
		{"C", "cli", "x", "web", "nobody"},
		{"D", "discord", "1", "", "discord:1"},
		{"own", "discord", "2", "discord", "discord:2"},
		{"read", "discord", "3", "web", "nobody"},
		{"typed", "discord", "4", "cli", "nobody"},
		{"told", "web", "y", "discord", "discord:"},
		{"other", "discord", "5", "mail", "mail:"},
		{"odd", "web", "z", "Some Body", "nobody"},
		// None of these was the name of a plugin then.
		{"name", "discord", "6", "Some Body", "nobody"},
		{"place", "discord", "7", "discord:123", "nobody"},
		{"hop", "discord", "8", "thread:D", "nobody"},
		{"word", "discord", "9", "thread", "nobody"},
		{"digit", "discord", "10", "7up", "nobody"},
		{"long", "discord", "11", "a234567890123456789012345678901234", "nobody"},
	}
	for _, primary := range [][]thread{
		{{"P", "web", "primary", "", "nobody"}},
		{{"P", "web", "primary", "discord", "discord:"}},
		{{"P", "web", "primary", "web", "nobody"}},
		nil,
	} {
		storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
			const at = "'2026-01-02 03:04:05'"
			all := slices.Concat(primary, threads)
			before(t, config, 5, func(s *store.Store) {
				for _, of := range all {
					byHand(t, s, fmt.Sprintf("INSERT INTO threads (id, source, source_id, report_to, last_activity, created_at) VALUES ('%s', '%s', '%s', '%s', %s, %s)",
						of.id, of.source, of.sourceID, of.reportTo, at, at))
				}
			})
			s := storetest.OpenConfig(t, config)
			s.SetCarrier(discordCarries)
			if problems := must[[]string](t)(s.Integrity(t.Context())); len(problems) != 0 {
				t.Errorf("problems %q", problems)
			}
			for _, of := range all {
				got := "nobody"
				id := reply(t, s, of.id, "answer to "+of.id)
				for _, d := range must[[]pluginsdk.Delivery](t)(s.Deliveries(t.Context(), pluginsdk.DeliveryQuery{})) {
					if d.MessageID == id {
						got = d.Plugin + ":" + d.Place
					}
				}
				if got != of.want {
					t.Errorf("%+v (primary %+v): replies go to %s", of, primary, got)
				}
			}
		})
	}
}

// What a plugin has stored under a key before the upgrade it does not store again
// after it. The core's own rows keep their keys.
func TestUpgradeKeepsKeys(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		const at = "'2026-01-02 03:04:05'"
		before(t, config, 5, func(s *store.Store) {
			byHand(t, s, "INSERT INTO plugins (name) VALUES ('cron'), ('web')")
			byHand(t, s, "INSERT INTO threads (id, source, source_id, last_activity, created_at) VALUES ('T', 'web', 'primary', "+at+", "+at+")")
			for _, of := range []struct{ source, run, key, content string }{
				{"cron", "", "fired", "one row"},
				{"cron", "", "digest", "first"}, {"cron", "", "digest#1", "second"}, {"cron", "", "digest#2", "third"},
				{"cron", "", "job#7", "no further row of job"},
				{"web", "", "x", "a"}, {"web", "", "web/x", "b"}, // the second has the key that the first one gets
				{"cron", "R", "R:command:0", "cron list"}, {"agent", "R", "R:reply", "hi"}, {"core", "", "fired of the core", "c"},
			} {
				byHand(t, s, fmt.Sprintf("INSERT INTO messages (thread_id, role, kind, source, run_id, key, content, created_at) VALUES ('T', 'system', 'text', '%s', '%s', '%s', '%s', %s)",
					of.source, of.run, of.key, of.content, at))
			}
			byHand(t, s, "INSERT INTO messages (thread_id, role, kind, source, key, content, created_at) VALUES ('T', 'user', 'text', 'web', 'people', 'hello', "+at+")")
			byHand(t, s, "INSERT INTO tasks (id, thread_id, parent_thread_id, key, status, original_message, prompt, created_at) VALUES ('K', 'T', 'T', 'task', 'pending', 'm', 'p', "+at+")")
		})
		s := storetest.OpenConfig(t, config)
		old := must[[]pluginsdk.Message](t)(s.Messages(t.Context(), pluginsdk.MessageQuery{ThreadID: "T"}))
		for _, call := range []struct {
			plugin, key string
			rows        []string
		}{
			{"cron", "fired", []string{"one row"}}, {"cron", "digest", []string{"first", "second", "third"}}, {"cron", "job#7", []string{"no further row of job"}},
		} {
			var rows []pluginsdk.NewMessage
			for _, content := range call.rows {
				rows = append(rows, text(pluginsdk.RoleSystem, content))
			}
			check(t, second(s.Append(t.Context(), ledger.Append{ThreadID: "T", Plugin: call.plugin, Key: call.key, Rows: rows})))
		}
		now := must[[]pluginsdk.Message](t)(s.Messages(t.Context(), pluginsdk.MessageQuery{ThreadID: "T"}))
		if len(now) != len(old) {
			t.Errorf("%q were stored again", contents(now[len(old):]))
		}
		for _, m := range old {
			own := m.Source == "cron" && m.Content == "cron list" || m.Source == "agent" || m.Source == "core"
			if own && (m.Plugin != "" || m.RunID != "" && !strings.HasPrefix(m.Key, "R:")) {
				t.Errorf("a row of the core's became %+v", m)
			}
			if m.Role == pluginsdk.RoleUser && m.Key != "people" {
				t.Errorf("a row of a person's became %+v", m)
			}
		}
		if counted, is := storedRows(t, s, "cron"); counted != is {
			t.Errorf("cron: counted %d bytes, there are %d", counted, is)
		}

		asked := pluginsdk.NewTask{ParentThreadID: "T", OriginalMessage: "m", Prompt: "p", PermissionMode: "plan"}
		for _, plugin := range []string{"cron", "cron"} {
			if task, created, err := s.CreateTask(t.Context(), ledger.NewTask{Plugin: plugin, Key: "task", NewTask: asked}); err != nil || created || task.ID != "K" {
				t.Errorf("the task was made again: %v, %s", err, task.ID)
			}
		}
		asked.Prompt = "something else"
		if task, created, err := s.CreateTask(t.Context(), ledger.NewTask{Plugin: "web", Key: "task", NewTask: asked}); err != nil || !created || task.ID == "K" {
			t.Errorf("another plugin's key is in the way: %v, %s", err, task.ID)
		}
	})
}

// Rows that certainly are a plugin's become so, and count for it; state that is
// there can be told from state that is written later; the keys of tasks hold.
func TestUpgradeSaysWhoseRowsAre(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		const at = "'2026-01-02 03:04:05'"
		before(t, config, 5, func(s *store.Store) {
			byHand(t, s, "INSERT INTO plugins (name) VALUES ('activity'), ('web')")
			byHand(t, s, "INSERT INTO threads (id, source, source_id, last_activity, created_at) VALUES ('T', 'web', 'primary', "+at+", "+at+")")
			for _, of := range []struct{ source, role, kind string }{
				{"web", "user", "text"}, {"activity", "system", "status"}, {"pipeline", "system", "status"}, {"activity", "assistant", "thinking"},
			} {
				byHand(t, s, fmt.Sprintf("INSERT INTO messages (thread_id, role, kind, source, content, created_at) VALUES ('T', '%s', '%s', '%s', 'ü', %s)", of.role, of.kind, of.source, at))
			}
			byHand(t, s, "INSERT INTO plugin_states (id, plugin, key, value, updated_at) VALUES ('1', 'activity', 'k', 'v', "+at+")")
			byHand(t, s, "INSERT INTO plugin_usages (plugin, state_keys, state_bytes) VALUES ('activity', 1, 2)")
			byHand(t, s, "INSERT INTO tasks (id, thread_id, key, original_message, prompt, created_at) VALUES ('K', 'T', 'key', 'm', 'p', "+at+")")
			byHand(t, s, "INSERT INTO tasks (id, thread_id, key, original_message, prompt, status, created_at) VALUES ('L', 'T', 'l', 'm', 'p', 'evaluating', "+at+")")
		})
		s := storetest.OpenConfig(t, config)
		ctx := t.Context()
		var plugins []string
		for _, m := range must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: "T"})) {
			plugins = append(plugins, m.Plugin)
		}
		if want := []string{"web", "activity", "", "activity"}; !reflect.DeepEqual(plugins, want) {
			t.Errorf("plugins %q, want %q", plugins, want)
		}
		if counted, is := storedRows(t, s, "activity"); counted != is || is == 0 {
			t.Errorf("activity: counted %d bytes, there are %d", counted, is)
		}
		if n := must[int64](t)(s.StoredBytes(ctx, "web")); n != 0 {
			t.Errorf("what people wrote counts for web: %d bytes", n)
		}
		first := must[pluginsdk.StateEntry](t)(s.GetState(ctx, "activity", "k"))
		check(t, put(s, "activity", "k", []byte("w")))
		if again := must[pluginsdk.StateEntry](t)(s.GetState(ctx, "activity", "k")); first.Revision != 1 || again.Revision <= first.Revision {
			t.Errorf("revision %d, then %d", first.Revision, again.Revision)
		}
		if task := must[pluginsdk.Task](t)(s.Task(ctx, "K")); task.Key != "key" || task.Plugin != "" {
			t.Errorf("task %+v", task)
		}
		// Who takes a task on has to be the one that made it, and nobody says yet who that was.
		asked := pluginsdk.NewTask{OriginalMessage: "m", Prompt: "p"}
		task, created, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", Key: "key", NewTask: asked})
		if err != nil || created || task.ID != "K" || task.Plugin != "maker" {
			t.Errorf("asked for again, it is %+v, made %v, %v", task, created, err)
		}
		_, created, err = s.CreateTask(ctx, ledger.NewTask{Plugin: "rival", Key: "key", NewTask: asked})
		if err != nil || !created {
			t.Errorf("another plugin's: made %v, %v", created, err)
		}
		if task := must[ledger.Task](t)(s.TaskState(ctx, "L")); task.Status != pluginsdk.TaskWaiting || task.Phase != ledger.PhaseIdle || task.Error == "" {
			t.Errorf("what was being evaluated is %+v", task)
		}
	})
}

// A task goes on after the upgrade wherever it was, with the rights that its thread has by
// then: none that somebody has taken away come back.
func TestUpgradeKeepsTasks(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		const at = "'2026-01-02 03:04:05'"
		states := [][2]string{
			{"pending", "creating"}, {"running", ""}, {"evaluating", "reviewing"}, {"evaluating", "handing"}, {"waiting", ""}, {"failed", "ending"},
			{"cancelled", "ending"}, {"completed", ""}, {"failed", ""}, {"cancelled", ""},
		}
		before(t, config, 10, func(s *store.Store) {
			for n, state := range states {
				id := fmt.Sprintf("T%d", n)
				byHand(t, s, fmt.Sprintf("INSERT INTO threads (id, source, source_id, kind, permission_mode, cwd, last_activity, created_at) VALUES ('%s', 'task', '%s', 'task', 'plan', '/repo', %s, %s)", id, id, at, at))
				byHand(t, s, fmt.Sprintf(`INSERT INTO tasks (id, thread_id, plugin, key, original_message, prompt, status, phase, permission_mode, allowed_tools, cwd, asked_cwd, created_at)
					VALUES ('%s', '%s', 'maker', '%s', 'm', 'p', '%s', '%s', 'acceptEdits', '["Read"]', '/repo', '%s', %s)`, id, id, id, state[0], state[1], []string{"", "/asked"}[min(n, 1)], at))
			}
		})
		s := storetest.OpenConfig(t, config)
		open := must[[]string](t)(s.OpenTasks(t.Context()))
		for n, state := range states {
			task := must[ledger.Task](t)(s.TaskState(t.Context(), fmt.Sprintf("T%d", n)))
			over := slices.Contains([]string{"completed", "failed", "cancelled"}, state[0])
			mode, first := map[bool]string{false: "plan", true: "acceptEdits"}[over], []string{"/repo", "/asked"}[min(n, 1)]
			if string(task.Status) != state[0] || string(task.Phase) != state[1] || task.PermissionMode != mode || task.FirstCwd != first || task.OwnDirectory || task.AskedCostCapUSD != 5 ||
				!slices.Equal(task.AskedAllowedTools, []string{"Read"}) || slices.Contains(open, task.ID) != (state[1] != "") {
				t.Errorf("%s is %+v", state, task)
			}
			moved, err := s.MoveTask(t.Context(), ledger.TaskMove{From: task, To: task})
			if err != nil || moved.Task.Epoch != task.Epoch+1 {
				t.Errorf("%s cannot be moved: %v", state, err)
			}
		}
		claimed := func(id string) ledger.Claim {
			accept(t, s, id, "go on")
			return claim(t, s, id)
		}
		if got := claimed("T1"); got.PermissionMode != "plan" || !slices.Equal(got.AllowedTools, []string{"Read"}) {
			t.Errorf("one that runs is claimed with %q %q", got.PermissionMode, got.AllowedTools)
		}
		if got := claimed("T7"); got.PermissionMode != "" || got.AllowedTools != nil {
			t.Errorf("one that is over is claimed with %q %q", got.PermissionMode, got.AllowedTools)
		}
	})
}

// monthOld fills a database as it was before there were approvals, the search index, files
// and tokens.
func monthOld(t *testing.T, s *store.Store) {
	t.Helper()
	const at = "'2026-01-02 03:04:05'"
	byHand(t, s, "INSERT INTO threads (id, source, source_id, last_activity, created_at) VALUES ('T', 'web', 'old', "+at+", "+at+")")
	byHand(t, s, "INSERT INTO messages (thread_id, role, kind, source, content, created_at) VALUES ('T', 'user', 'text', 'web', 'a walrus', "+at+")")
	byHand(t, s, "INSERT INTO messages (thread_id, role, kind, source, content, created_at) VALUES ('T', 'system', 'status', 'core', 'no walrus', "+at+")")
	byHand(t, s, "INSERT INTO runs (id, thread_id, message_id, kind, plugin, state, queued_at, finished_at) VALUES ('R', 'T', 1, 'message', '', 'succeeded', "+at+", "+at+")")
	byHand(t, s, "INSERT INTO runs (id, thread_id, message_id, kind, plugin, state, queued_at, finished_at) VALUES ('S', 'T', 1, 'turn', 'maker', 'succeeded', "+at+", "+at+")")
	byHand(t, s, "INSERT INTO agent_runs (run_id, thread_id, purpose, cost_usd, started_at) VALUES ('S', 'T', 'pipeline', 1, "+at+")")
	for _, row := range []string{
		"threads (id, source, source_id, kind, last_activity, created_at) VALUES ('U', 'cron', 'daily', 'cron', AT, AT)",
		"messages (thread_id, role, kind, source, content, created_at) VALUES ('U', 'assistant', 'text', 'agent', 'watered', AT)",
		"deliveries (id, message_id, plugin, target, state, created_at) VALUES ('D', 3, 'maker', 'place', 'pending', AT)",
		"deliveries (id, message_id, plugin, target, state, attempt, last_error, created_at) VALUES ('E', 3, 'maker', 'other', 'dead', 5, 'no such place', AT)",
		`plugins (name, version, manifest, enabled, position, granted, settings) VALUES ('maker', '1.2.3', '{"name":"maker","version":"1.2.3"}', true, 2, '["tasks.write"]', '{"a":1}')`,
		"plugin_states (id, plugin, key, value, updated_at) VALUES ('P', 'maker', 'k', 'v', AT)",
		"plugin_usages (plugin, state_keys, state_bytes) VALUES ('maker', 1, 2)",
		"cron_jobs (id, name, schedule, prompt, thread_id, created_at) VALUES ('C', 'daily', '0 9 * * *', 'water', 'U', AT)",
		`tasks (id, thread_id, parent_thread_id, plugin, key, original_message, prompt, status, cwd, labels, created_at)
			VALUES ('K', 'U', 'T', 'maker', 'k', 'm', 'p', 'waiting', '/repo', '{"worktree":"x"}', AT)`,
		"task_answers (task_id, iteration, round, phase, plugin, answer, created_at) VALUES ('K', 1, 1, 'reviewing', 'maker', 'accept', AT)",
		"reservations (plugin, account, run_id, usd) VALUES ('maker', 'day', '', 3)",
		"metrics (name, value, thread_id, created_at, plugin) VALUES ('watered', 1, 'U', AT, 'maker')",
		"audit_entries (id, who, action, target, created_at) VALUES ('A', 'ann', 'plugin.grant', 'maker', AT)",
	} {
		byHand(t, s, "INSERT INTO "+strings.ReplaceAll(row, "AT", at))
	}
}

// monthOn looks at such a database with a program of today.
func monthOn(t *testing.T, s *store.Store) {
	t.Helper()
	ctx := t.Context()
	sound(t, s)
	if mark := must[ledger.IndexMark](t)(s.IndexMark(ctx)); mark.MessageID != 0 || mark.Rules != 0 {
		t.Errorf("an upgrade waits for the search index: %+v", mark)
	}
	for _, run := range must[[]pluginsdk.Run](t)(s.Runs(ctx, pluginsdk.RunQuery{ThreadID: "T"})) {
		if must[ledger.Run](t)(s.KeptRun(ctx, run.ID)).Unattended {
			t.Errorf("somebody was there to answer for run %s", run.ID)
		}
	}
	if th := must[pluginsdk.Thread](t)(s.Thread(ctx, "T")); th.AskTools != "" {
		t.Errorf("tools that ask in a thread from before: %q", th.AskTools)
	}
	var plugin string
	check(t, s.Reader().QueryRowContext(ctx, "SELECT plugin FROM agent_runs WHERE run_id = 'S'").Scan(&plugin))
	if plugin != "maker" {
		t.Errorf("the turn was asked for by %q", plugin)
	}
	if plugin := must[ledger.Plugin](t)(s.Plugin(ctx, "maker")); !plugin.Enabled || plugin.Version != "1.2.3" || len(plugin.Granted) != 1 || string(plugin.Settings) != `{"a":1}` {
		t.Errorf("the plugin is %+v", plugin)
	}
	if task := must[ledger.Task](t)(s.TaskState(ctx, "K")); task.Status != pluginsdk.TaskWaiting || task.Cwd != "/repo" || task.Labels["worktree"] != "x" {
		t.Errorf("the task is %+v", task)
	}
	job := must[[]pluginsdk.CronJob](t)(s.Crons(ctx))[0]
	if want := (pluginsdk.CronSpec{Name: "daily", Schedule: "0 9 * * *", Timezone: "America/Phoenix", Prompt: "water", ThreadID: "U", Missed: pluginsdk.MissedSkip}); !reflect.DeepEqual(job.Spec, want) || job.Enabled || !reflect.DeepEqual(job.Status, pluginsdk.CronStatus{}) {
		t.Errorf("the job is %+v", job)
	}
	if due := must[ledger.Due](t)(s.NextDelivery(ctx, "maker", "place")); due.ID != "D" {
		t.Errorf("what is to be carried is %+v", due)
	}
	wantCode(t, second(s.DeleteThread(ctx, "T", "ann")), pluginsdk.CodeStale) // the task tells it of its end
	byHand(t, s, "UPDATE tasks SET status = 'completed' WHERE id = 'K'")
	wantCode(t, second(s.DeleteThread(ctx, "U", "ann")), pluginsdk.CodeStale) // the job writes in it
	check(t, s.ResetIndex(ctx, 1))
	check(t, s.AddToIndex(ctx, must[ledger.IndexMark](t)(s.IndexMark(ctx)), 2, []ledger.IndexEntry{{MessageID: 1, Tokens: []string{"walrus"}}}))
	ids := must[[]int64](t)(s.Indexed(ctx, ledger.IndexQuery{All: [][]ledger.IndexTerm{{{Token: "walrus"}}}, After: 0, Before: 10, Limit: 10}))
	if !slices.Equal(ids, []int64{1}) {
		t.Errorf("the index finds %v", ids)
	}
	check(t, second(s.DeleteThread(ctx, "T", "ann"))) // and what was said before goes as what is said today
	check(t, s.RemoveThread(ctx, "T"))
	sound(t, s)
}

// Before approvals (11) and before schedules, budgets and summaries (19).
func TestUpgradeOfAMonthKeepsEverything(t *testing.T) {
	for _, version := range []int{11, 19} {
		t.Run(strconv.Itoa(version), func(t *testing.T) {
			storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
				var old map[string][]string
				before(t, config, version, func(s *store.Store) {
					monthOld(t, s)
					if version == 19 { // it writes down which plugin has asked for a turn
						byHand(t, s, "UPDATE agent_runs SET plugin = 'maker'")
					}
					old = dump(t, s)
				})
				s := storetest.OpenConfig(t, config)
				now := dump(t, s)
				for table, rows := range old {
					if rows[0] == "" { // it has none
						continue
					}
					is := parsed(t, now[table])
					for i, want := range parsed(t, rows) {
						for column, value := range want {
							if len(is) != len(rows) || !reflect.DeepEqual(is[i][column], value) {
								t.Errorf("%s.%s of row %d (of %d, now %d): %v is changed", table, column, i+1, len(rows), len(is), value)
							}
						}
					}
				}
				monthOn(t, s)
			})
		})
	}
}

func TestRestoreBeforeApprovals(t *testing.T) {
	pairs(t, func(t *testing.T, from, to store.Config) {
		var file string
		before(t, from, 11, func(s *store.Store) {
			monthOld(t, s)
			file = backup(t, s, "")
		})
		restoreInto(t, to, file)
		monthOn(t, storetest.OpenConfig(t, to))
	})
}

// What turns have cost was recorded with what their sessions had cost before. Nobody knows by
// how much, so the rows stay as they are, and are marked: people see that a sum is unsure.
func TestUpgradeMarksCostsAsUnsure(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		var old map[string][]string
		before(t, config, 19, func(s *store.Store) {
			const at = "'2026-01-02 03:04:05'"
			for id, cost := range map[int]string{1: "0.5", 2: "0", 3: "1.25"} {
				byHand(t, s, fmt.Sprintf("INSERT INTO agent_runs (id, purpose, model, input_tokens, cost_usd, duration_ns, success, started_at) VALUES (%d, 'pipeline', 'm', 7, %s, 9, true, %s)", id, cost, at))
			}
			old = dump(t, s)
		})
		s := storetest.OpenConfig(t, config)
		is := parsed(t, dump(t, s)["agent_runs"])
		for i, want := range parsed(t, old["agent_runs"]) {
			for column, value := range want {
				if !reflect.DeepEqual(is[i][column], value) {
					t.Errorf("%s of row %d: %v became %v", column, i+1, value, is[i][column])
				}
			}
			if unsure := is[i]["cost_unsure"]; unsure != (want["cost_usd"] != 0.0) || is[i]["notional"] != false || is[i]["account"] != "" {
				t.Errorf("row %d, which has cost %v: %v", i+1, want["cost_usd"], is[i])
			}
		}
		usage := must[*pluginsdk.UsageResponse](t)(s.Usage(t.Context(), pluginsdk.UsageRequest{By: pluginsdk.UsageByModel}))
		if usage.Total.Unsure != 2 || usage.Total.CostUSD != 1.75 || usage.Total.NotionalUSD != 0 {
			t.Errorf("usage %+v", usage.Total)
		}
	})
}

// The turns of a run say what of its cost nobody is billed: a database in which only they knew
// that says it of the runs as well.
func TestUpgradeTellsWhatIsBilledOfRuns(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		before(t, config, 20, func(s *store.Store) {
			const at = "'2026-01-02 03:04:05'"
			for n, run := range []string{"mixed", "billed", "refused"} {
				byHand(t, s, fmt.Sprintf("INSERT INTO runs (id, thread_id, message_id, kind, state, cost_usd, queued_at, finished_at) VALUES ('%s', 'T', %d, 'message', 'succeeded', 1, %s, %s)", run, n+1, at, at))
			}
			for n, turn := range []string{"'mixed', 0.25, true, true, 'a'", "'mixed', 0.75, false, false, 'b'", "'billed', 1, false, false, NULL", "'refused', 1, false, false, 'c'", "'refused', 2, true, true, 'd:refused'"} {
				byHand(t, s, fmt.Sprintf("INSERT INTO agent_runs (id, purpose, run_id, cost_usd, notional, cost_unsure, %q, started_at) VALUES (%d, 'pipeline', %s, %s)", "key", n+1, turn, at))
			}
		})
		s := storetest.OpenConfig(t, config)
		for id, notional := range map[string]float64{"mixed": 0.25, "billed": 0, "refused": 0} {
			run := must[pluginsdk.Run](t)(s.Run(t.Context(), id))
			if run.CostUSD != 1 || run.NotionalUSD != notional || run.CostUnsure != (notional > 0) {
				t.Errorf("%s: cost %v, of it notional %v, unsure: %t", id, run.CostUSD, run.NotionalUSD, run.CostUnsure)
			}
		}
	})
}

// A session from before there were accounts is that of the daemon's environment. It must not go
// on under an account that its thread is given later.
func TestUpgradeSaysWhoseSessionsAre(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		before(t, config, 19, func(s *store.Store) {
			const at = "'2026-01-02 03:04:05'"
			for id, session := range map[string]string{"T": "s-1", "U": ""} {
				byHand(t, s, fmt.Sprintf("INSERT INTO threads (id, source, source_id, session_id, last_activity, created_at) VALUES ('%s', 'web', '%[1]s', '%s', %s, %[3]s)", id, session, at))
			}
			byHand(t, s, "INSERT INTO messages (thread_id, role, kind, source, content, created_at) VALUES ('T', 'user', 'text', 'web', 'a walrus', "+at+")")
			for id, row := range map[string][2]string{"R": {"running", "s-2"}, "S": {"succeeded", "s-1"}, "Q": {"queued", ""}} {
				byHand(t, s, fmt.Sprintf("INSERT INTO runs (id, thread_id, message_id, kind, plugin, state, session_id, queued_at) VALUES ('%s', 'T', 1, 'message', '', '%s', '%s', %s)", id, row[0], row[1], at))
			}
		})
		is := dump(t, storetest.OpenConfig(t, config))
		for _, of := range []struct{ table, column, id, want string }{
			{"threads", "session_account", "T", "environment"}, {"threads", "session_account", "U", ""},
			{"runs", "account", "R", "environment"}, {"runs", "account", "S", ""}, {"runs", "account", "Q", ""},
		} {
			for _, row := range parsed(t, is[of.table]) {
				if row["id"] == of.id && row[of.column] != of.want {
					t.Errorf("%s.%s of %s is %q, want %q", of.table, of.column, of.id, row[of.column], of.want)
				}
			}
		}
	})
}

// Who may say what the work of a task is was not stored before: tasks that are at work in a
// worktree must not wait for a person after an upgrade.
func TestUpgradeSaysWhoseWorkTasksAre(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		before(t, config, 22, func(s *store.Store) {
			const at = "'2026-01-02 03:04:05'"
			for id, cwd := range map[string]string{"A": "/repo/.claude/worktrees/A/deep", "B": "/repo", "C": "/repo/.claude/worktrees/other"} {
				byHand(t, s, fmt.Sprintf("INSERT INTO tasks (id, thread_id, status, original_message, prompt, cwd, first_cwd, created_at) VALUES ('%s', 'T', 'running', 'a', 'a', '%s', '/repo', %s)", id, cwd, at))
			}
		})
		s := storetest.OpenConfig(t, config)
		for id, want := range map[string]string{"A": "worktree", "B": "", "C": ""} {
			if task := must[ledger.Task](t)(s.TaskState(t.Context(), id)); task.CwdPlugin != want {
				t.Errorf("the work of %s is that of %q, want %q", id, task.CwdPlugin, want)
			}
		}
	})
}

// What plugins did before hooks were grants they do after the upgrade, as somebody who looks
// sees; what was off, or cannot be read, is granted nothing.
func TestUpgradeGrantsWhatHooksOfEnabledPluginsNeed(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		rows := map[string]struct{ enabled, manifest, granted, want, unconfirmed string }{
			"reader":   {"true", `{"hooks":["OnMessage","OnAfterInvoke","OnBeforeReply","OnCommand","OnNew"]}`, `["state"]`, "state, turns.change, turns.read", "turns.change, turns.read"},
			"gate":     {"true", `{"hooks":["OnBeforeRun","OnTaskFailed"]}`, `["tasks.read","turns.decide"]`, "tasks.read, turns.decide", ""},
			"keeper":   {"true", `{"hooks":["OnTaskFailed","OnTaskComplete"]}`, `null`, "tasks.judge, tasks.read", "tasks.judge, tasks.read"},
			"off":      {"false", `{"hooks":["OnMessage"]}`, `[]`, "", ""},
			"deaf":     {"true", `{"hooks":["OnCommand"]}`, `["state"]`, "state", ""},
			"unseen":   {"true", `{}`, `[]`, "", ""},
			"odd":      {"true", `{"hooks":"OnMessage"}`, `[]`, "", ""},
			"odder":    {"true", `[1]`, `[]`, "", ""},
			"broken":   {"true", `{"hooks":["OnMessage"]}`, `{"state":true}`, "", ""},
			"activity": {"true", `{"hooks":["OnPipelineStart"]}`, `["messages.write"]`, "messages.write", ""},
		}
		before(t, config, 23, func(s *store.Store) {
			for name, row := range rows {
				byHand(t, s, fmt.Sprintf("INSERT INTO plugins (name, enabled, manifest, granted) VALUES ('%s', %s, '%s', '%s')", name, row.enabled, row.manifest, row.granted))
			}
			byHand(t, s, "INSERT INTO plugins (name, enabled) VALUES ('bare', true)")
		})
		s := storetest.OpenConfig(t, config)
		join := func(of []pluginsdk.Capability) string {
			return strings.Trim(strings.ReplaceAll(fmt.Sprint(of), " ", ", "), "[]")
		}
		for name, row := range rows {
			is := must[ledger.Plugin](t)(s.Plugin(t.Context(), name))
			slices.Sort(is.Granted)
			if join(is.Granted) != row.want || join(is.Unconfirmed) != row.unconfirmed {
				t.Errorf("%s is granted %q, of which nobody has confirmed %q; want %q, %q (%s)", name, is.Granted, is.Unconfirmed, row.want, row.unconfirmed, is.Problem)
			}
			entries := must[[]pluginsdk.AuditEntry](t)(s.AuditPage(t.Context(), pluginsdk.AuditQuery{Target: name}))
			if said := row.unconfirmed != ""; said != (len(entries) == 1) || said && (entries[0].Who != "upgrade" || entries[0].Action != "plugin.grant" ||
				entries[0].Detail != "by upgrade: its hooks need "+row.unconfirmed || len(entries[0].ID) != 36 || time.Since(entries[0].At).Abs() > time.Hour) {
				t.Errorf("%s: the audit log has %+v", name, entries)
			}
		}
	})
}
