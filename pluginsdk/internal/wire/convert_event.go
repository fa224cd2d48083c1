package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func positionTo(v pluginsdk.Position) *typesv1.Position {
	return &typesv1.Position{
		Boot: v.Boot,
		Seq:  v.Seq,
	}
}

func positionFrom(m *typesv1.Position) pluginsdk.Position {
	return pluginsdk.Position{
		Boot: m.GetBoot(),
		Seq:  m.GetSeq(),
	}
}

func eventTo(v pluginsdk.Event) *typesv1.Event {
	return &typesv1.Event{
		Type:      string(v.Type),
		ThreadId:  v.ThreadID,
		Data:      v.Data,
		Timestamp: timeTo(v.Timestamp),
		Boot:      v.Boot,
		Seq:       v.Seq,
	}
}

func eventFrom(m *typesv1.Event) pluginsdk.Event {
	return pluginsdk.Event{
		Type:      pluginsdk.EventType(m.GetType()),
		ThreadID:  m.GetThreadId(),
		Data:      m.GetData(),
		Timestamp: timeFrom(m.GetTimestamp()),
		Boot:      m.GetBoot(),
		Seq:       m.GetSeq(),
	}
}
