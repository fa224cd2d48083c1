package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// cronServer serves the host's Crons.
type cronServer struct {
	hostv1.UnimplementedCronServiceServer
	crons pluginsdk.Crons
}

func (s cronServer) SaveCron(ctx context.Context, m *hostv1.SaveCronRequest) (*hostv1.SaveCronResponse, error) {
	job, err := s.crons.Save(ctx, cronJobFrom(m.GetJob()))
	return &hostv1.SaveCronResponse{Job: cronJobTo(job)}, err
}

func (s cronServer) ListCrons(ctx context.Context, _ *hostv1.ListCronsRequest) (*hostv1.ListCronsResponse, error) {
	jobs, err := s.crons.List(ctx)
	return &hostv1.ListCronsResponse{Jobs: listTo(jobs, cronJobTo)}, err
}

func (s cronServer) DeleteCron(ctx context.Context, m *hostv1.DeleteCronRequest) (*hostv1.DeleteCronResponse, error) {
	return &hostv1.DeleteCronResponse{}, s.crons.Delete(ctx, m.GetName())
}

// cronClient is the host's Crons as a plugin sees them.
type cronClient struct {
	client hostv1.CronServiceClient
}

func (c cronClient) Save(ctx context.Context, job pluginsdk.CronJob) (pluginsdk.CronJob, error) {
	m, err := c.client.SaveCron(ctx, &hostv1.SaveCronRequest{Job: cronJobTo(job)})
	return cronJobFrom(m.GetJob()), err
}

func (c cronClient) List(ctx context.Context) ([]pluginsdk.CronJob, error) {
	m, err := c.client.ListCrons(ctx, &hostv1.ListCronsRequest{})
	return listFrom(m.GetJobs(), cronJobFrom), err
}

func (c cronClient) Delete(ctx context.Context, name string) error {
	_, err := c.client.DeleteCron(ctx, &hostv1.DeleteCronRequest{Name: name})
	return err
}
