package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func commandResultTo(v pluginsdk.CommandResult) *typesv1.CommandResult {
	return &typesv1.CommandResult{
		Handled: v.Handled,
		Reply:   v.Reply,
	}
}

func commandResultFrom(m *typesv1.CommandResult) pluginsdk.CommandResult {
	return pluginsdk.CommandResult{
		Handled: m.GetHandled(),
		Reply:   m.GetReply(),
	}
}

func verdictTo(v pluginsdk.Verdict) *typesv1.Verdict {
	return &typesv1.Verdict{
		Allow:  v.Allow,
		Reason: v.Reason,
	}
}

func verdictFrom(m *typesv1.Verdict) pluginsdk.Verdict {
	return pluginsdk.Verdict{
		Allow:  m.GetAllow(),
		Reason: m.GetReason(),
	}
}
