package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
)

// evidence reads every table that a promise is about.
func (d *database) evidence(ctx context.Context, records *check.Records) error {
	for _, table := range []struct {
		name, query string
		take        func(*sql.Rows) error
	}{
		{"messages", `SELECT id, thread_id, run_id, role, kind, content, CAST(metadata AS TEXT) FROM messages ORDER BY id`,
			func(rows *sql.Rows) error {
				var m check.Message
				var metadata sql.NullString
				err := rows.Scan(&m.ID, &m.ThreadID, &m.RunID, &m.Role, &m.Kind, &m.Content, &metadata)
				var fields struct {
					Event, Outcome, Task, Status string
					Attempt                      int
				}
				_ = json.Unmarshal([]byte(metadata.String), &fields) // other rows have other metadata
				m.Event, m.Outcome, m.Attempt, m.Task, m.Status = fields.Event, fields.Outcome, fields.Attempt, fields.Task, fields.Status
				records.Messages = append(records.Messages, m)
				return err
			}},
		{"runs", `SELECT id, thread_id, message_id, state, merged_into, error, attempt, source, COALESCE(key, ''),
				finished_at IS NOT NULL, beside, cost_usd FROM runs ORDER BY message_id`,
			func(rows *sql.Rows) error {
				var r check.Run
				err := rows.Scan(&r.ID, &r.ThreadID, &r.MessageID, &r.State, &r.MergedInto, &r.Error, &r.Attempt,
					&r.Source, &r.Key, &r.Finished, &r.Beside, &r.CostUSD)
				records.Runs = append(records.Runs, r)
				return err
			}},
		{"agent_runs", `SELECT run_id, success, started_at, duration_ns FROM agent_runs WHERE run_id <> '' ORDER BY id`,
			func(rows *sql.Rows) error {
				var t check.Turn
				var began time.Time
				var length int64
				err := rows.Scan(&t.RunID, &t.Success, &began, &length)
				t.Ended = began.Add(time.Duration(length))
				records.Turns = append(records.Turns, t)
				return err
			}},
		{"agent_runs", `SELECT a.id, a.run_id, a.cost_usd, a.thread_id, a.task_id, a.purpose, a.plugin, a.cron, a.account, a.started_at,
				COALESCE(m.model, a.model), COALESCE(m.cost_usd, a.cost_usd)
				FROM agent_runs a LEFT JOIN agent_run_models m ON m.agent_run_id = a.id ORDER BY a.id, m.id`, costs(records)},
		{"cron_fires", `SELECT job_id, due, until, count, cause, state, reason, run_id FROM cron_fires ORDER BY id`,
			func(rows *sql.Rows) error {
				var f check.Fire
				var until sql.NullTime
				err := rows.Scan(&f.JobID, &f.Due, &until, &f.Count, &f.Cause, &f.State, &f.Reason, &f.RunID)
				f.Due, f.Until = f.Due.UTC(), until.Time.UTC()
				f.Key = f.JobID + "@" + f.Due.Format(time.RFC3339Nano)
				records.Fires = append(records.Fires, f)
				return err
			}},
		{"usage_marks", `SELECT COUNT(*) FROM agent_runs WHERE id <= COALESCE((SELECT agent_run_id FROM usage_marks WHERE id = 1), 0)`,
			func(rows *sql.Rows) error { return rows.Scan(&records.Summed) }},
		{"deliveries", `SELECT id, message_id, plugin, target, state, last_error FROM deliveries ORDER BY message_id`,
			func(rows *sql.Rows) error {
				var delivery check.Delivery
				err := rows.Scan(&delivery.ID, &delivery.MessageID, &delivery.Plugin, &delivery.Target, &delivery.State, &delivery.Error)
				records.Deliveries = append(records.Deliveries, delivery)
				return err
			}},
		{"tasks", `SELECT id, COALESCE(key, ''), thread_id, parent_thread_id, status, error, current_iteration, validation_iterations,
				completed_at IS NOT NULL, prompt FROM tasks ORDER BY id`,
			func(rows *sql.Rows) error {
				var t check.Task
				err := rows.Scan(&t.ID, &t.Key, &t.ThreadID, &t.ParentID, &t.Status, &t.Error, &t.Iterations, &t.Rejections, &t.Ended, &t.Prompt)
				records.Tasks = append(records.Tasks, t)
				return err
			}},
		{"threads", "SELECT id, name, source <> 'courier' AND busy_mode = 'interrupt' FROM threads WHERE source IN ('courier', 'discord', 'discord-owner') ORDER BY id",
			func(rows *sql.Rows) error {
				t := check.Thread{Delivered: true}
				err := rows.Scan(&t.ID, &t.Name, &t.Interrupts)
				if !slices.ContainsFunc(records.Threads, func(known check.Thread) bool { return known.ID == t.ID }) {
					records.Threads = append(records.Threads, t) // nobody talks there, or they do on Discord
				}
				return err
			}},
		{"task_answers", `SELECT task_id, phase, round, plugin, answer, CAST(evidence AS TEXT), created_at FROM task_answers WHERE author = '' ORDER BY id`,
			func(rows *sql.Rows) error {
				var a check.Answer
				var evidence sql.NullString
				err := rows.Scan(&a.TaskID, &a.Hook, &a.Round, &a.Plugin, &a.Verdict, &evidence, &a.At)
				var shown []struct{ Kind, Tree string }
				_ = json.Unmarshal([]byte(evidence.String), &shown) // most show nothing
				for _, piece := range shown {
					if piece.Kind == "tree" {
						a.Trees = append(a.Trees, piece.Tree)
					}
				}
				records.Answers = append(records.Answers, a)
				return err
			}},
		{"approvals", `SELECT id, run_id, thread_id, message_id, input, state, choice, author, rule_id, decided_at, spent_at,
				(SELECT COUNT(*) FROM audit_entries e WHERE e.target = a.id AND e.action = 'approval.' || a.state) FROM approvals a ORDER BY id`,
			func(rows *sql.Rows) error {
				var a check.Approval
				var input string
				var decided, spent sql.NullTime
				err := rows.Scan(&a.ID, &a.RunID, &a.ThreadID, &a.MessageID, &input, &a.State, &a.Choice, &a.Author, &a.RuleID, &decided, &spent, &a.Audited)
				a.Deed, a.Decided, a.Spent = check.DeedMarker.FindString(input), decided.Time, spent.Time
				records.Approvals = append(records.Approvals, a)
				return err
			}},
		{"approval_rules", "SELECT id FROM approval_rules ORDER BY id",
			func(rows *sql.Rows) error {
				var id string
				err := rows.Scan(&id)
				records.Rules = append(records.Rules, id)
				return err
			}},
	} {
		if err := d.each(ctx, table.query, table.take); err != nil {
			return fmt.Errorf("read the table %s: %w", table.name, err)
		}
	}
	return nil
}

// costs takes what turns have cost: a row for each model of each.
func costs(records *check.Records) func(*sql.Rows) error {
	last := int64(0)
	return func(rows *sql.Rows) error {
		var id int64
		var one check.Cost
		var thread, task, purpose, plugin, cron, account, model string
		var part float64
		var began time.Time
		err := rows.Scan(&id, &one.RunID, &one.USD, &thread, &task, &purpose, &plugin, &cron, &account, &began, &model, &part)
		if id != last {
			began = began.UTC()
			one.Models = map[string]float64{}
			one.Of = map[string]string{
				"thread": thread, "task": task, "purpose": purpose, "plugin": plugin, "cron": cron, "account": account,
				"day": began.Format(time.DateOnly), "hour": began.Format("2006-01-02T15"),
			}
			records.Costs = append(records.Costs, one)
		}
		last = id
		records.Costs[len(records.Costs)-1].Models[model] += part
		return err
	}
}

func (d *database) each(ctx context.Context, query string, take func(*sql.Rows) error) error {
	rows, err := d.db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close() // Err is asked below
	for rows.Next() {
		if err := take(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
