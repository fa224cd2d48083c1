package wire

import "github.com/seed-706843ae/harness/pluginsdk"

// implements reports whether a plugin implements the interface H.
func implements[H any](plugin pluginsdk.Plugin) bool {
	_, ok := plugin.(H)
	return ok
}

// implemented lists the hooks that a plugin answers, in pipeline order.
func implemented(plugin pluginsdk.Plugin) []pluginsdk.Hook {
	var hooks []pluginsdk.Hook
	for _, candidate := range []struct {
		hook pluginsdk.Hook
		ok   bool
	}{
		{pluginsdk.HookBeforeRun, implements[pluginsdk.BeforeRunHook](plugin)},
		{pluginsdk.HookPipelineStart, implements[pluginsdk.PipelineStartHook](plugin)},
		{pluginsdk.HookMessage, implements[pluginsdk.MessageHook](plugin)},
		{pluginsdk.HookBeforeInvoke, implements[pluginsdk.BeforeInvokeHook](plugin)},
		{pluginsdk.HookAfterInvoke, implements[pluginsdk.AfterInvokeHook](plugin)},
		{pluginsdk.HookCommand, implements[pluginsdk.CommandHook](plugin)},
		{pluginsdk.HookBeforeReply, implements[pluginsdk.BeforeReplyHook](plugin)},
		{pluginsdk.HookPipelineComplete, implements[pluginsdk.PipelineCompleteHook](plugin)},
		{pluginsdk.HookTaskCreate, implements[pluginsdk.TaskCreateHook](plugin)},
		{pluginsdk.HookTaskComplete, implements[pluginsdk.TaskCompleteHook](plugin)},
		{pluginsdk.HookTaskValidated, implements[pluginsdk.TaskValidatedHook](plugin)},
		{pluginsdk.HookTaskFailed, implements[pluginsdk.TaskFailedHook](plugin)},
		{pluginsdk.HookSettingsChange, implements[pluginsdk.SettingsChangeHook](plugin)},
		{pluginsdk.HookBroadcast, implements[pluginsdk.BroadcastHook](plugin)},
		{pluginsdk.HookDeliver, implements[pluginsdk.DeliverHook](plugin)},
		{pluginsdk.HookCallTool, implements[pluginsdk.ToolProvider](plugin)},
	} {
		if candidate.ok {
			hooks = append(hooks, candidate.hook)
		}
	}
	return hooks
}

// answering returns the plugin as the interface of a hook.
func answering[H any](plugin pluginsdk.Plugin, hook pluginsdk.Hook) (H, error) {
	answer, ok := plugin.(H)
	if !ok {
		return answer, pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "the plugin does not answer %s", hook)
	}
	return answer, nil
}
