package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// taskHookServer answers the bends in a task's life with the plugin's hooks.
type taskHookServer struct {
	pluginv1.UnimplementedTaskServiceServer
	plugin pluginsdk.Plugin
}

func (s taskHookServer) OnTaskCreate(ctx context.Context, m *pluginv1.OnTaskCreateRequest) (*pluginv1.OnTaskCreateResponse, error) {
	hook, err := answering[pluginsdk.TaskCreateHook](s.plugin, pluginsdk.HookTaskCreate)
	if err != nil {
		return nil, err
	}
	next, err := hook.OnTaskCreate(ctx, taskCreationFrom(m))
	return &pluginv1.OnTaskCreateResponse{Context: taskContextTo(next)}, err
}

func (s taskHookServer) OnTaskComplete(ctx context.Context, m *pluginv1.OnTaskCompleteRequest) (*pluginv1.OnTaskCompleteResponse, error) {
	hook, err := answering[pluginsdk.TaskCompleteHook](s.plugin, pluginsdk.HookTaskComplete)
	if err != nil {
		return nil, err
	}
	verdict, err := hook.OnTaskComplete(ctx, taskReviewFrom(m))
	return &pluginv1.OnTaskCompleteResponse{Verdict: verdictTo(verdict)}, err
}

func (s taskHookServer) OnTaskValidated(ctx context.Context, m *pluginv1.OnTaskValidatedRequest) (*pluginv1.OnTaskValidatedResponse, error) {
	hook, err := answering[pluginsdk.TaskValidatedHook](s.plugin, pluginsdk.HookTaskValidated)
	if err != nil {
		return nil, err
	}
	return &pluginv1.OnTaskValidatedResponse{}, hook.OnTaskValidated(ctx, taskValidatedFrom(m))
}

func (s taskHookServer) OnTaskFailed(ctx context.Context, m *pluginv1.OnTaskFailedRequest) (*pluginv1.OnTaskFailedResponse, error) {
	hook, err := answering[pluginsdk.TaskFailedHook](s.plugin, pluginsdk.HookTaskFailed)
	if err != nil {
		return nil, err
	}
	return &pluginv1.OnTaskFailedResponse{}, hook.OnTaskFailed(ctx, taskFailedFrom(m))
}

// OnTaskCreate implements pluginsdk.TaskCreateHook.
func (c *PluginClient) OnTaskCreate(ctx context.Context, creation pluginsdk.TaskCreation) (pluginsdk.TaskContext, error) {
	creation.Call = completed(ctx, creation.Call)
	m, err := c.task.OnTaskCreate(ctx, taskCreationTo(creation))
	return taskContextFrom(m.GetContext()), err
}

// OnTaskComplete implements pluginsdk.TaskCompleteHook.
func (c *PluginClient) OnTaskComplete(ctx context.Context, review pluginsdk.TaskReview) (pluginsdk.Verdict, error) {
	review.Call = completed(ctx, review.Call)
	m, err := c.task.OnTaskComplete(ctx, taskReviewTo(review))
	return verdictFrom(m.GetVerdict()), err
}

// OnTaskValidated implements pluginsdk.TaskValidatedHook.
func (c *PluginClient) OnTaskValidated(ctx context.Context, end pluginsdk.TaskEnd) error {
	end.Call = completed(ctx, end.Call)
	_, err := c.task.OnTaskValidated(ctx, taskValidatedTo(end))
	return err
}

// OnTaskFailed implements pluginsdk.TaskFailedHook.
func (c *PluginClient) OnTaskFailed(ctx context.Context, end pluginsdk.TaskEnd) error {
	end.Call = completed(ctx, end.Call)
	_, err := c.task.OnTaskFailed(ctx, taskFailedTo(end))
	return err
}
