package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

// originTo leaves out an origin that says nothing, as most do.
func originTo(v pluginsdk.Origin) *typesv1.Origin {
	if v == (pluginsdk.Origin{}) {
		return nil
	}
	return &typesv1.Origin{
		Token:     v.Token,
		TokenName: v.TokenName,
		ThreadId:  v.ThreadID,
		RunId:     v.RunID,
		TaskId:    v.TaskID,
		Apart:     v.Apart,
	}
}

func originFrom(m *typesv1.Origin) pluginsdk.Origin {
	return pluginsdk.Origin{
		Token:     m.GetToken(),
		TokenName: m.GetTokenName(),
		ThreadID:  m.GetThreadId(),
		RunID:     m.GetRunId(),
		TaskID:    m.GetTaskId(),
		Apart:     m.GetApart(),
	}
}
