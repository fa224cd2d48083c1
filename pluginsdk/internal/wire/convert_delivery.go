package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func deliveryTo(v pluginsdk.Delivery) *typesv1.Delivery {
	return &typesv1.Delivery{
		Id:            v.ID,
		MessageId:     v.MessageID,
		Plugin:        v.Plugin,
		Place:         v.Place,
		State:         string(v.State),
		Attempt:       int64(v.Attempt),
		NextAttemptAt: timeTo(v.NextAttemptAt),
		LastError:     v.LastError,
		ExternalId:    v.ExternalID,
		CreatedAt:     timeTo(v.CreatedAt),
	}
}

func deliveryFrom(m *typesv1.Delivery) pluginsdk.Delivery {
	return pluginsdk.Delivery{
		ID:            m.GetId(),
		MessageID:     m.GetMessageId(),
		Plugin:        m.GetPlugin(),
		Place:         m.GetPlace(),
		State:         pluginsdk.DeliveryState(m.GetState()),
		Attempt:       int(m.GetAttempt()),
		NextAttemptAt: timeFrom(m.GetNextAttemptAt()),
		LastError:     m.GetLastError(),
		ExternalID:    m.GetExternalId(),
		CreatedAt:     timeFrom(m.GetCreatedAt()),
	}
}

func deliveryQueryTo(v pluginsdk.DeliveryQuery) *typesv1.DeliveryQuery {
	return &typesv1.DeliveryQuery{
		State:  string(v.State),
		Plugin: v.Plugin,
		Place:  v.Place,
		Newest: v.Newest,
		After:  v.After,
		Limit:  int64(v.Limit),
	}
}

func deliveryQueryFrom(m *typesv1.DeliveryQuery) pluginsdk.DeliveryQuery {
	return pluginsdk.DeliveryQuery{
		State:  pluginsdk.DeliveryState(m.GetState()),
		Plugin: m.GetPlugin(),
		Place:  m.GetPlace(),
		Newest: m.GetNewest(),
		After:  m.GetAfter(),
		Limit:  int(m.GetLimit()),
	}
}
