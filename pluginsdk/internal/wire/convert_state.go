package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func stateEntryTo(v pluginsdk.StateEntry) *typesv1.StateEntry {
	return &typesv1.StateEntry{
		Key:      v.Key,
		Value:    v.Value,
		Revision: v.Revision,
	}
}

func stateEntryFrom(m *typesv1.StateEntry) pluginsdk.StateEntry {
	return pluginsdk.StateEntry{
		Key:      m.GetKey(),
		Value:    m.GetValue(),
		Revision: m.GetRevision(),
	}
}

func stateConditionTo(v pluginsdk.StateCondition) *typesv1.StateCondition {
	return &typesv1.StateCondition{
		Revision: v.Revision,
	}
}

func stateConditionFrom(m *typesv1.StateCondition) pluginsdk.StateCondition {
	return pluginsdk.StateCondition{
		Revision: m.GetRevision(),
	}
}
