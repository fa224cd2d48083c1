package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/roles"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// How large what is stored of a workflow may be, in bytes. The host takes 1 MiB.
const (
	mostRecord   = 768 << 10
	mostRoles    = 128 << 10
	mostFindings = 64 << 10 // of a review, as they are told to a worker
	mostLater    = 300      // of each text of a review that was shortened
	leastLater   = 50       // and of one that has to be shorter still
	mostVerdicts = 50       // of a stage, once its older ones are put together
)

// encoded is a record as it is stored. One that is too large has the words of its reviews shortened, those
// of batches that are done first, and older reviews put together; what they have decided and cost stays. All of their words stand in the threads of the reviews.
func (r *record) encoded() ([]byte, error) {
	raw, err := encode(r)
	done := func(s *stages.Stage) bool { return s != nil && s.Status == stages.Completed }
	for _, shorten := range []func(*record){
		func(r *record) {
			r.eachVerdicts(func(s *stages.Stage, v []stages.Verdict) { shortenAll(v, done(s), mostLater) })
		},
		func(r *record) {
			r.eachVerdicts(func(s *stages.Stage, v []stages.Verdict) {
				if done(s) {
					shortenAll(v, true, leastLater)
				}
			})
		},
		(*record).together,
		func(r *record) {
			r.eachVerdicts(func(_ *stages.Stage, v []stages.Verdict) { shortenAll(v, true, mostLater) })
		},
	} {
		if err != nil || len(raw) <= mostRecord {
			break
		}
		shorten(r)
		raw, err = encode(r)
	}
	if err == nil && len(raw) > mostRecord {
		err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "what is noted of workflow %s has %d bytes, and may have %d; abandon it, and start others for parts of the work", r.ID, len(raw), mostRecord)
	}
	return raw, err
}

func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(b.Bytes()), err
}

// eachVerdicts calls fn for the verdicts of each stage, and for those of the last review, without a stage.
func (r *record) eachVerdicts(fn func(*stages.Stage, []stages.Verdict)) {
	for i := range r.Stages {
		fn(&r.Stages[i], r.Stages[i].Verdicts)
	}
	fn(nil, r.Final)
}

// shortenAll shortens verdicts: all but the last, or that too.
func shortenAll(verdicts []stages.Verdict, last bool, most int) {
	for i := range verdicts {
		if i == len(verdicts)-1 && !last {
			return
		}
		v := &verdicts[i]
		v.Summary, v.Source, v.PatternsCompliance, v.Checks = cut(v.Summary, most), cut(v.Source, most), cut(v.PatternsCompliance, most), nil
		if few := most / 100; len(v.Issues) > few+1 {
			v.Issues = append(slices.Clone(v.Issues[:few]), fmt.Sprintf("and %d more", len(v.Issues)-few))
		}
		for n := range v.Issues {
			v.Issues[n] = cut(v.Issues[n], most)
		}
	}
}

// together puts older verdicts of a stage together with the oldest that is kept, which has what all of them have cost.
func (r *record) together() {
	fold := func(verdicts []stages.Verdict) []stages.Verdict {
		left := len(verdicts) - mostVerdicts
		if left <= 0 {
			return verdicts
		}
		kept := slices.Clone(verdicts[left:])
		for _, v := range verdicts[:left] {
			kept[0].CostUSD += v.CostUSD
			kept[0].Seconds += v.Seconds
		}
		return kept
	}
	for i := range r.Stages {
		r.Stages[i].Verdicts = fold(r.Stages[i].Verdicts)
	}
	r.Final = fold(r.Final)
}

// bounded are roles that a record has room for. Where those of the project are too many or too long, none of
// them is used, and why says so.
func bounded(all map[string]roles.Role, settings map[string]roles.Override) (_ map[string]roles.Role, why string, err error) {
	raw, err := encode(all)
	if err != nil || len(raw) <= mostRoles {
		return all, "", err
	}
	if all, _, err = roles.Load("", settings); err == nil {
		why = fmt.Sprintf("The files in %s are not used: all roles together have %d bytes, and may have %d.", roles.Dir, len(raw), mostRoles)
		raw, err = encode(all)
	}
	if err == nil && len(raw) > mostRoles {
		err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "the setting roles makes roles of %d bytes together; they may have %d: shorten their prompts", len(raw), mostRoles)
	}
	return all, why, err
}

// loadRoles are the roles of a project, within bounds.
func loadRoles(dir string, c *config) (all map[string]roles.Role, problems []string, err error) {
	if all, problems, err = roles.Load(dir, c.Roles); err != nil {
		return nil, problems, err
	}
	all, why, err := bounded(all, c.Roles)
	if why != "" {
		problems = append(problems, why)
	}
	return all, problems, err
}

// forgetRoles drops the roles that no stage has; the last review has the reviewer's.
func (r *record) forgetRoles() {
	maps.DeleteFunc(r.Roles, func(name string, _ roles.Role) bool {
		return name != string(stages.Reviewer) && !slices.ContainsFunc(r.Stages, func(s stages.Stage) bool { return s.Agent == name })
	})
}
