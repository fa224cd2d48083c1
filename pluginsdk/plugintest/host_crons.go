package plugintest

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type crons struct{ h *Host }

func (s crons) Save(ctx context.Context, job pluginsdk.CronJob) (pluginsdk.CronJob, error) {
	leave, err := s.h.enter(ctx, "Crons.Save")
	if err != nil {
		return pluginsdk.CronJob{}, err
	}
	defer leave()
	if i := s.find(job.Name); i >= 0 {
		job.ID, job.CreatedAt = s.h.crons[i].ID, s.h.crons[i].CreatedAt
		s.h.crons[i] = job
		return job, nil
	}
	job.ID, job.CreatedAt = s.h.nextID("cron"), now()
	s.h.crons = append(s.h.crons, job)
	slices.SortFunc(s.h.crons, func(a, b pluginsdk.CronJob) int { return strings.Compare(a.Name, b.Name) })
	return job, nil
}

func (s crons) find(name string) int {
	return slices.IndexFunc(s.h.crons, func(job pluginsdk.CronJob) bool { return job.Name == name })
}

func (s crons) List(ctx context.Context) ([]pluginsdk.CronJob, error) {
	leave, err := s.h.enter(ctx, "Crons.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	return slices.Clone(s.h.crons), nil
}

func (s crons) Delete(ctx context.Context, name string) error {
	leave, err := s.h.enter(ctx, "Crons.Delete")
	if err != nil {
		return err
	}
	defer leave()
	i := s.find(name)
	if i < 0 {
		return pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no cron job %q", name)
	}
	s.h.crons = slices.Delete(s.h.crons, i, i+1)
	return nil
}
