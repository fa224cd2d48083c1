package plugintest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type crons struct{ view }

func (s crons) Save(ctx context.Context, request *pluginsdk.SaveCronRequest) (*pluginsdk.SaveCronResponse, error) {
	leave, err := s.h.enter(ctx, "Crons.Save")
	if err != nil {
		return nil, err
	}
	defer leave()
	if i := slices.IndexFunc(s.h.crons, func(j pluginsdk.CronJob) bool { return j.Spec.Name == request.Spec.Name }); i >= 0 {
		s.h.crons[i].Spec = request.Spec
		return &pluginsdk.SaveCronResponse{Job: s.h.crons[i], Existed: true}, nil
	}
	job := pluginsdk.CronJob{ID: s.h.nextID("cron"), Spec: request.Spec, Enabled: request.Enabled, CreatedAt: now()}
	s.h.crons = append(s.h.crons, job)
	slices.SortFunc(s.h.crons, func(a, b pluginsdk.CronJob) int { return strings.Compare(a.Spec.Name, b.Spec.Name) })
	return &pluginsdk.SaveCronResponse{Job: job}, nil
}

func (s crons) SetEnabled(ctx context.Context, request *pluginsdk.SetCronEnabledRequest) (*pluginsdk.SetCronEnabledResponse, error) {
	job, err := s.change(ctx, "Crons.SetEnabled", request.Name, func(job *pluginsdk.CronJob) { job.Enabled = request.Enabled })
	return &pluginsdk.SetCronEnabledResponse{Job: job}, err
}

func (s crons) Report(ctx context.Context, request *pluginsdk.ReportCronRequest) (*pluginsdk.ReportCronResponse, error) {
	if request.Name == "" {
		return s.closeFires(ctx, request.Fires)
	}
	job, err := s.change(ctx, "Crons.Report", request.Name, func(job *pluginsdk.CronJob) {
		job.Status = request.Status
		for _, fire := range request.Fires {
			fire.JobID, fire.Job = job.ID, job.Spec.Name
			at := slices.IndexFunc(s.h.fires, func(f pluginsdk.CronFire) bool { return f.JobID == job.ID && f.Due.Equal(fire.Due) })
			if at < 0 {
				s.h.fires = append(s.h.fires, fire)
			} else if before := s.h.fires[at]; before.State.Open() || before.State == pluginsdk.FireSkipped && fire.State == before.State && before.Count > 0 && fire.Count > before.Count {
				s.h.fires[at] = fire
			}
		}
	})
	return &pluginsdk.ReportCronResponse{Job: job}, err
}

// closeFires stores what became of fires whose jobs were removed.
func (s crons) closeFires(ctx context.Context, fires []pluginsdk.CronFire) (*pluginsdk.ReportCronResponse, error) {
	leave, err := s.h.enter(ctx, "Crons.Report")
	if err != nil {
		return nil, err
	}
	defer leave()
	for _, fire := range fires {
		if slices.ContainsFunc(s.h.crons, func(job pluginsdk.CronJob) bool { return job.ID == fire.JobID }) {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: the job %q is there; what became of its fires is reported with its name", fire.JobID)
		}
		for i, row := range s.h.fires {
			if row.JobID == fire.JobID && row.Due.Equal(fire.Due) && row.State.Open() {
				s.h.fires[i] = fire
			}
		}
	}
	return &pluginsdk.ReportCronResponse{}, nil
}

func (s crons) change(ctx context.Context, method, name string, do func(*pluginsdk.CronJob)) (pluginsdk.CronJob, error) {
	leave, err := s.h.enter(ctx, method)
	if err != nil {
		return pluginsdk.CronJob{}, err
	}
	defer leave()
	i, err := find(s.h.crons, "cron job", name, jobName)
	if err != nil {
		return pluginsdk.CronJob{}, err
	}
	do(&s.h.crons[i])
	return s.h.crons[i], nil
}

func jobName(job pluginsdk.CronJob) string { return job.Spec.Name }

func (s crons) List(ctx context.Context, request *pluginsdk.ListCronsRequest) (*pluginsdk.ListCronsResponse, error) {
	leave, err := s.h.enter(ctx, "Crons.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	jobs, more := pageAfter(s.h.crons, jobName, request.After, request.Limit)
	return &pluginsdk.ListCronsResponse{Jobs: jobs, More: more}, nil
}

func (s crons) Fires(ctx context.Context, request *pluginsdk.CronFiresRequest) (*pluginsdk.CronFiresResponse, error) {
	leave, err := s.h.enter(ctx, "Crons.Fires")
	if err != nil {
		return nil, err
	}
	defer leave()
	var found []pluginsdk.CronFire
	for _, fire := range s.h.fires {
		if (request.Name == "" || fire.Job == request.Name) && (!request.Open || fire.State.Open()) && (request.Before.IsZero() || fire.Due.Before(request.Before)) {
			found = append(found, fire)
		}
	}
	slices.SortStableFunc(found, func(a, b pluginsdk.CronFire) int { return b.Due.Compare(a.Due) })
	limit := min(cmp.Or(max(request.Limit, 0), 100), 1000)
	if len(found) > limit {
		return &pluginsdk.CronFiresResponse{Fires: found[:limit], More: true}, nil
	}
	return &pluginsdk.CronFiresResponse{Fires: found}, nil
}

// Fire stores the row, and broadcasts nothing: a test does (EventCronChanged).
func (s crons) Fire(ctx context.Context, request *pluginsdk.FireCronRequest) (*pluginsdk.FireCronResponse, error) {
	leave, err := s.h.enter(ctx, "Crons.Fire")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.crons, "cron job", request.Name, jobName)
	if err != nil {
		return nil, err
	}
	fire := pluginsdk.CronFire{JobID: s.h.crons[i].ID, Job: request.Name, Due: now(), Cause: pluginsdk.FireAsked, State: pluginsdk.FirePending, Data: request.Data, DecidedAt: now()}
	if fire.Data != "" {
		fire.Cause = pluginsdk.FireCalled
	}
	s.h.fires = append(s.h.fires, fire)
	return &pluginsdk.FireCronResponse{Fire: fire}, nil
}

// Ask asks Host.Cron.
func (s crons) Ask(ctx context.Context, request *pluginsdk.AskCronRequest) (*pluginsdk.AskCronResponse, error) {
	leave, err := s.h.enter(ctx, "Crons.Ask")
	if err != nil {
		return nil, err
	}
	leave() // a plugin may call the host before it answers
	if s.h.Cron == nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no plugin %q", request.Plugin)
	}
	answer, err := s.h.Cron(request.Plugin, request.Question)
	if !answer.News {
		answer.Text = ""
	}
	return &pluginsdk.AskCronResponse{News: answer.News, Text: answer.Text}, err
}

func (s crons) Delete(ctx context.Context, request *pluginsdk.DeleteCronRequest) (*pluginsdk.DeleteCronResponse, error) {
	leave, err := s.h.enter(ctx, "Crons.Delete")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.crons, "cron job", request.Name, jobName)
	if err != nil {
		return nil, err
	}
	for n, fire := range s.h.fires {
		if fire.JobID == s.h.crons[i].ID && fire.State == pluginsdk.FirePending {
			s.h.fires[n].State, s.h.fires[n].Reason, s.h.fires[n].EndedAt = pluginsdk.FireCancelled, "the schedule was removed", now()
		}
	}
	s.h.crons = slices.Delete(s.h.crons, i, i+1)
	return &pluginsdk.DeleteCronResponse{}, nil
}
