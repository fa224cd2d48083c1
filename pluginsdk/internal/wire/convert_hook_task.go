package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

func onTaskCreateRequestTo(v pluginsdk.OnTaskCreateRequest) *pluginv1.OnTaskCreateRequest {
	return &pluginv1.OnTaskCreateRequest{
		Call:    callTo(v.Call),
		Task:    taskTo(v.Task),
		Context: taskContextTo(v.Context),
	}
}

func onTaskCreateRequestFrom(m *pluginv1.OnTaskCreateRequest) pluginsdk.OnTaskCreateRequest {
	return pluginsdk.OnTaskCreateRequest{
		Call:    callFrom(m.GetCall()),
		Task:    taskFrom(m.GetTask()),
		Context: taskContextFrom(m.GetContext()),
	}
}

func onTaskCreateResponseTo(v pluginsdk.OnTaskCreateResponse) *pluginv1.OnTaskCreateResponse {
	return &pluginv1.OnTaskCreateResponse{
		Cwd:          v.Cwd,
		Context:      v.Context,
		SetLabels:    v.SetLabels,
		RemoveLabels: v.RemoveLabels,

		PermissionMode: v.PermissionMode,
		AllowTools:     v.AllowTools,
	}
}

func onTaskCreateResponseFrom(m *pluginv1.OnTaskCreateResponse) pluginsdk.OnTaskCreateResponse {
	if m == nil { // its optional fields have no nil-safe getters
		return pluginsdk.OnTaskCreateResponse{}
	}
	return pluginsdk.OnTaskCreateResponse{
		Cwd:          m.Cwd,
		Context:      m.Context,
		SetLabels:    m.GetSetLabels(),
		RemoveLabels: m.GetRemoveLabels(),

		PermissionMode: m.PermissionMode,
		AllowTools:     m.GetAllowTools(),
	}
}

func onTaskCompleteRequestTo(v pluginsdk.OnTaskCompleteRequest) *pluginv1.OnTaskCompleteRequest {
	return &pluginv1.OnTaskCompleteRequest{
		Call:     callTo(v.Call),
		Task:     taskTo(v.Task),
		Result:   invokeResultTo(v.Result),
		Evidence: listTo(v.Evidence, evidenceTo),
	}
}

func onTaskCompleteRequestFrom(m *pluginv1.OnTaskCompleteRequest) pluginsdk.OnTaskCompleteRequest {
	return pluginsdk.OnTaskCompleteRequest{
		Call:     callFrom(m.GetCall()),
		Task:     taskFrom(m.GetTask()),
		Result:   invokeResultFrom(m.GetResult()),
		Evidence: listFrom(m.GetEvidence(), evidenceFrom),
	}
}

func onTaskCompleteResponseTo(v pluginsdk.OnTaskCompleteResponse) *pluginv1.OnTaskCompleteResponse {
	return &pluginv1.OnTaskCompleteResponse{
		Verdict:  string(v.Verdict),
		Feedback: v.Feedback,
		Evidence: listTo(v.Evidence, evidenceTo),
		Marks:    v.Marks,
	}
}

func onTaskCompleteResponseFrom(m *pluginv1.OnTaskCompleteResponse) pluginsdk.OnTaskCompleteResponse {
	return pluginsdk.OnTaskCompleteResponse{
		Verdict:  pluginsdk.Verdict(m.GetVerdict()),
		Feedback: m.GetFeedback(),
		Evidence: listFrom(m.GetEvidence(), evidenceFrom),
		Marks:    m.GetMarks(),
	}
}

func onTaskValidatedRequestTo(v pluginsdk.OnTaskValidatedRequest) *pluginv1.OnTaskValidatedRequest {
	return &pluginv1.OnTaskValidatedRequest{
		Call:     callTo(v.Call),
		Task:     taskTo(v.Task),
		Evidence: listTo(v.Evidence, evidenceTo),
	}
}

func onTaskValidatedRequestFrom(m *pluginv1.OnTaskValidatedRequest) pluginsdk.OnTaskValidatedRequest {
	return pluginsdk.OnTaskValidatedRequest{
		Call:     callFrom(m.GetCall()),
		Task:     taskFrom(m.GetTask()),
		Evidence: listFrom(m.GetEvidence(), evidenceFrom),
	}
}

func onTaskValidatedResponseTo(v pluginsdk.OnTaskValidatedResponse) *pluginv1.OnTaskValidatedResponse {
	return &pluginv1.OnTaskValidatedResponse{
		Handover: string(v.Handover),
		Reason:   v.Reason,
		Mark:     v.Mark,
		CwdGone:  v.CwdGone,
	}
}

func onTaskValidatedResponseFrom(m *pluginv1.OnTaskValidatedResponse) pluginsdk.OnTaskValidatedResponse {
	return pluginsdk.OnTaskValidatedResponse{
		Handover: pluginsdk.Handover(m.GetHandover()),
		Reason:   m.GetReason(),
		Mark:     m.GetMark(),
		CwdGone:  m.GetCwdGone(),
	}
}

func onTaskFailedRequestTo(v pluginsdk.OnTaskFailedRequest) *pluginv1.OnTaskFailedRequest {
	return &pluginv1.OnTaskFailedRequest{
		Call:   callTo(v.Call),
		Task:   taskTo(v.Task),
		Reason: v.Reason,
	}
}

func onTaskFailedRequestFrom(m *pluginv1.OnTaskFailedRequest) pluginsdk.OnTaskFailedRequest {
	return pluginsdk.OnTaskFailedRequest{
		Call:   callFrom(m.GetCall()),
		Task:   taskFrom(m.GetTask()),
		Reason: m.GetReason(),
	}
}

func onTaskFailedResponseTo(v pluginsdk.OnTaskFailedResponse) *pluginv1.OnTaskFailedResponse {
	return &pluginv1.OnTaskFailedResponse{
		CwdGone: v.CwdGone,
		Note:    v.Note,
	}
}

func onTaskFailedResponseFrom(m *pluginv1.OnTaskFailedResponse) pluginsdk.OnTaskFailedResponse {
	return pluginsdk.OnTaskFailedResponse{
		CwdGone: m.GetCwdGone(),
		Note:    m.GetNote(),
	}
}
