package workflow

import (
	"math"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
)

// The record of a workflow of a hundred tasks, with reviewers that are as talkative as they may be, can be
// stored; what was decided and what it has cost stays, and the last word of a batch that is at work is whole as
// long as there is room.
func TestARecordHasBounds(t *testing.T) {
	for name, row := range map[string]struct{ batches, rounds, words int }{
		"many batches": {100, 5, 200 << 10}, "many rounds": {2, 3000, 10 << 10}, "few": {3, 2, 1 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			rec := record{State: stages.State{Version: stages.Version, ID: "w", Request: strings.Repeat("x", mostRequest)}}
			verdicts := func(last stages.Decision) (list []stages.Verdict) {
				for n := range row.rounds {
					v := stages.Verdict{Decision: stages.Revise, Score: 3, Summary: strings.Repeat("s", 1<<10), CostUSD: 0.01, Seconds: 1, RunID: "run", Patch: "patch"}
					for range row.words / 4096 {
						v.Issues = append(v.Issues, strings.Repeat("<", 4<<10))
					}
					if n == row.rounds-1 {
						v.Decision = last
					}
					list = append(list, v)
				}
				return list
			}
			for n := 1; n <= row.batches; n++ {
				status, last := stages.Completed, stages.Approve
				if n == row.batches {
					status, last = stages.Running, stages.Revise
				}
				scope := plan.Scope{First: n, Last: n}
				rec.Stages = append(rec.Stages, stages.Stage{Agent: "builder", Status: status, BatchScope: scope}, stages.Stage{Agent: "reviewer", Status: status, BatchScope: scope, Verdicts: verdicts(last)})
				rec.Tasks = append(rec.Tasks, plan.Task{Number: n, Title: "part", Body: strings.Repeat("b", mostPlan/row.batches)})
			}
			rec.Final = verdicts(stages.Approve)
			before := rec.verifying()
			raw, err := rec.encoded()
			if err != nil || len(raw) > mostRecord {
				t.Fatalf("%d bytes, %v", len(raw), err)
			}
			if after := rec.verifying(); math.Abs(after-before) > 1e-6 {
				t.Errorf("the reviews have cost $%.2f, and then $%.2f", before, after)
			}
			for n, s := range rec.Stages {
				if s.Role() != stages.Reviewer {
					continue
				}
				if last := s.Verdicts[len(s.Verdicts)-1]; (last.Decision == stages.Approve) != (s.Status == stages.Completed) || last.Patch != "patch" || last.RunID != "run" {
					t.Errorf("stage %d: %+v", n, last)
				}
			}
			s := rec.Stages[len(rec.Stages)-1]
			if last := s.Verdicts[len(s.Verdicts)-1]; len(last.Issues) != row.words/4096 {
				t.Errorf("the last word has %d issues", len(last.Issues))
			}
			if name == "few" && len(rec.Stages[1].Verdicts[0].Summary) != 1<<10 {
				t.Error("shortened although there is room")
			}
		})
	}
}
