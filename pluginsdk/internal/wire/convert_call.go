package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func callTo(v pluginsdk.Call) *typesv1.Call {
	return &typesv1.Call{
		Id:       v.ID,
		RunId:    v.RunID,
		Attempt:  int64(v.Attempt),
		Token:    v.Token,
		Deadline: timeTo(v.Deadline),
		TraceId:  v.TraceID,
	}
}

func callFrom(m *typesv1.Call) pluginsdk.Call {
	return pluginsdk.Call{
		ID:       m.GetId(),
		RunID:    m.GetRunId(),
		Attempt:  int(m.GetAttempt()),
		Token:    m.GetToken(),
		Deadline: timeFrom(m.GetDeadline()),
		TraceID:  m.GetTraceId(),
	}
}

func progressTo(v pluginsdk.Progress) *typesv1.Progress {
	return &typesv1.Progress{
		Done:    v.Done,
		Total:   v.Total,
		Message: v.Message,
	}
}

func progressFrom(m *typesv1.Progress) pluginsdk.Progress {
	return pluginsdk.Progress{
		Done:    m.GetDone(),
		Total:   m.GetTotal(),
		Message: m.GetMessage(),
	}
}
