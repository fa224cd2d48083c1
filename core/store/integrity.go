package store

import (
	"context"
	"fmt"
)

// orphans are rows that refer to what does not exist; there should be none.
var orphans = []struct{ what, query string }{
	{"messages of no thread", "SELECT COUNT(*) FROM messages m WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.id = m.thread_id)" + notRemoved("m.thread_id")},
	{"runs of no thread", "SELECT COUNT(*) FROM runs r WHERE NOT (beside AND r.thread_id = '') AND NOT EXISTS (SELECT 1 FROM threads t WHERE t.id = r.thread_id)" + notRemoved("r.thread_id")},
	{"runs of no message", "SELECT COUNT(*) FROM runs r WHERE r.kind <> 'turn' AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = r.message_id)"},
	{"deliveries of no message", "SELECT COUNT(*) FROM deliveries d WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = d.message_id)"},
	{"files of no thread", "SELECT COUNT(*) FROM files f WHERE f.thread_id <> '' AND NOT EXISTS (SELECT 1 FROM threads t WHERE t.id = f.thread_id)" + notRemoved("f.thread_id")},
	{"tasks of no thread", "SELECT COUNT(*) FROM tasks k WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.id = k.thread_id)" + notRemoved("k.thread_id")},
	{"threads whose replies go to no thread", `SELECT COUNT(*) FROM threads t WHERE t.report_to LIKE 'thread:%'
		AND NOT EXISTS (SELECT 1 FROM threads o WHERE 'thread:' || o.id = t.report_to)`},
	{"tasks below no task", "SELECT COUNT(*) FROM tasks k WHERE k.parent_task_id <> '' AND NOT EXISTS (SELECT 1 FROM tasks p WHERE p.id = k.parent_task_id)"},
	{"tasks whose iteration has no run", `SELECT COUNT(*) FROM tasks k WHERE k.run_id <> ''
		AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = k.run_id AND r.thread_id = k.thread_id)`},
	{"answers about no task", "SELECT COUNT(*) FROM task_answers a WHERE NOT EXISTS (SELECT 1 FROM tasks k WHERE k.id = a.task_id)"},
	{"money set aside for no run", "SELECT COUNT(*) FROM reservations v WHERE v.run_id <> '' AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = v.run_id)"},
	{"tasks whose status and phase disagree", `SELECT COUNT(*) FROM tasks WHERE NOT (
		status = 'pending' AND phase = 'creating' OR status IN ('running', 'waiting', 'completed') AND phase = ''
		OR status = 'evaluating' AND phase IN ('reviewing', 'handing') OR status IN ('failed', 'cancelled') AND phase IN ('', 'ending'))`},
	{"threads that are there, and are to be removed", "SELECT COUNT(*) FROM thread_removals x JOIN threads t ON t.id = x.id"},
	{"context files whose text is not kept", `SELECT COUNT(*) FROM workspace_changes c WHERE c.version <> ''
		AND NOT EXISTS (SELECT 1 FROM workspace_texts t WHERE t.id = c.version)`},
	{"primary threads too many", "SELECT COUNT(*) FROM threads WHERE kind = 'primary' AND NOT (source = 'web' AND source_id = 'primary')"},
	{"threads with more than one run at work", `SELECT COUNT(*) FROM
		(SELECT 1 FROM runs WHERE state = 'running' AND NOT beside GROUP BY thread_id HAVING COUNT(*) > 1) AS twice`},
	{"commands of one name with more than one at work beside their thread", `SELECT COUNT(*) FROM
		(SELECT 1 FROM runs WHERE state = 'running' AND beside_as <> '' GROUP BY thread_id, beside_as HAVING COUNT(*) > 1) AS twice`},
	{"approvals of no run", "SELECT COUNT(*) FROM approvals a WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = a.run_id)"},
	{"rules of no thread", "SELECT COUNT(*) FROM approval_rules a WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.id = a.thread_id)" + notRemoved("a.thread_id")},
	{"runs that wait for an answer to nothing", `SELECT COUNT(*) FROM runs r WHERE r.state = 'waiting'
		AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.run_id = r.id AND a.state = 'open')`},
	{"runs merged into no run of their thread", `SELECT COUNT(*) FROM runs r WHERE r.state = 'merged'
		AND NOT EXISTS (SELECT 1 FROM runs t WHERE t.id = r.merged_into AND t.thread_id = r.thread_id AND t.id <> r.id)` + notRemoved("r.thread_id")},
	{"runs that name another one as theirs although they are not merged", `SELECT COUNT(*) FROM runs
		WHERE merged_into <> '' AND state <> 'merged'`},
	{"runs whose state and finished_at disagree", `SELECT COUNT(*) FROM runs
		WHERE (finished_at IS NULL) <> (state IN ('queued', 'running', 'waiting'))`},
}

// notRemoved leaves out the rows of threads whose removal is under way.
func notRemoved(threadID string) string {
	return " AND NOT EXISTS (SELECT 1 FROM thread_removals x WHERE x.id = " + threadID + ")"
}

// circling are the threads whose replies are passed on from thread to thread and never
// arrive. One that reports to itself means that.
var circling = fmt.Sprintf(`WITH RECURSIVE passed(id, target, hops) AS (
		SELECT id, report_to, 1 FROM threads WHERE report_to LIKE 'thread:%%' AND report_to <> 'thread:' || id
		UNION ALL
		SELECT p.id, t.report_to, p.hops + 1 FROM passed p JOIN threads t ON t.id = SUBSTR(p.target, 8)
		WHERE t.report_to LIKE 'thread:%%' AND t.report_to <> 'thread:' || t.id AND p.hops <= %d)
	SELECT COUNT(*), COALESCE(MIN(id), '') FROM passed WHERE hops > %d`, targetHops, targetHops)

// Integrity returns what is wrong with the stored data, in words for people;
// nothing when all is well. It reads everything, so it takes its time.
func (s *Store) Integrity(ctx context.Context) ([]string, error) {
	problems, err := s.back.integrity(ctx)
	if err != nil {
		return nil, wrap("check the database", err)
	}
	for _, check := range orphans {
		var n int
		if err := s.back.reader().QueryRowContext(ctx, check.query).Scan(&n); err != nil {
			return nil, wrap("look for "+check.what, err)
		}
		if n > 0 {
			problems = append(problems, fmt.Sprintf("%d %s", n, check.what))
		}
	}
	var n int
	var one string
	if err := s.back.reader().QueryRowContext(ctx, circling).Scan(&n, &one); err != nil {
		return nil, wrap("look for threads that report to each other", err)
	}
	if n > 0 {
		problems = append(problems, fmt.Sprintf("%d threads whose replies never arrive, because the threads that they are passed on to report to each other, "+
			"or are more than %d; one of them is %s", n, targetHops, one))
	}
	return problems, nil
}

// DeadDeliveries counts the deliveries that were given up: people have not got
// what they carry.
func (s *Store) DeadDeliveries(ctx context.Context) (n int, err error) {
	err = s.back.reader().QueryRowContext(ctx, "SELECT COUNT(*) FROM deliveries WHERE state = 'dead'").Scan(&n)
	return n, wrap("count dead deliveries", err)
}
