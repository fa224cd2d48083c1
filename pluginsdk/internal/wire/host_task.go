package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// taskServer serves the host's Tasks.
type taskServer struct {
	hostv1.UnimplementedTaskServiceServer
	tasks pluginsdk.Tasks
}

func (s taskServer) CreateTask(ctx context.Context, m *hostv1.CreateTaskRequest) (*hostv1.CreateTaskResponse, error) {
	task, err := s.tasks.Create(ctx, m.GetKey(), newTaskFrom(m.GetTask()))
	return &hostv1.CreateTaskResponse{Task: taskTo(task)}, err
}

func (s taskServer) GetTask(ctx context.Context, m *hostv1.GetTaskRequest) (*hostv1.GetTaskResponse, error) {
	task, err := s.tasks.Get(ctx, m.GetId())
	return &hostv1.GetTaskResponse{Task: taskTo(task)}, err
}

func (s taskServer) ListTasks(ctx context.Context, m *hostv1.ListTasksRequest) (*hostv1.ListTasksResponse, error) {
	tasks, err := s.tasks.List(ctx, taskQueryFrom(m.GetQuery()))
	return &hostv1.ListTasksResponse{Tasks: listTo(tasks, taskTo)}, err
}

func (s taskServer) UpdateTask(ctx context.Context, m *hostv1.UpdateTaskRequest) (*hostv1.UpdateTaskResponse, error) {
	task, err := s.tasks.Update(ctx, m.GetId(), taskPatchFrom(m.GetPatch()))
	return &hostv1.UpdateTaskResponse{Task: taskTo(task)}, err
}

// taskClient is the host's Tasks as a plugin sees them.
type taskClient struct {
	client hostv1.TaskServiceClient
}

func (c taskClient) Create(ctx context.Context, key string, task pluginsdk.NewTask) (pluginsdk.Task, error) {
	m, err := c.client.CreateTask(ctx, &hostv1.CreateTaskRequest{Key: key, Task: newTaskTo(task)})
	return taskFrom(m.GetTask()), err
}

func (c taskClient) Get(ctx context.Context, id string) (pluginsdk.Task, error) {
	m, err := c.client.GetTask(ctx, &hostv1.GetTaskRequest{Id: id})
	return taskFrom(m.GetTask()), err
}

func (c taskClient) List(ctx context.Context, query pluginsdk.TaskQuery) ([]pluginsdk.Task, error) {
	m, err := c.client.ListTasks(ctx, &hostv1.ListTasksRequest{Query: taskQueryTo(query)})
	return listFrom(m.GetTasks(), taskFrom), err
}

func (c taskClient) Update(ctx context.Context, id string, patch pluginsdk.TaskPatch) (pluginsdk.Task, error) {
	m, err := c.client.UpdateTask(ctx, &hostv1.UpdateTaskRequest{Id: id, Patch: taskPatchTo(patch)})
	return taskFrom(m.GetTask()), err
}
