package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func effectsTo(v pluginsdk.Effects) *typesv1.Effects {
	return &typesv1.Effects{
		Key:     v.Key,
		Rows:    listTo(v.Rows, newMessageTo),
		Metrics: listTo(v.Metrics, newMetricTo),
	}
}

func effectsFrom(m *typesv1.Effects) pluginsdk.Effects {
	return pluginsdk.Effects{
		Key:     m.GetKey(),
		Rows:    listFrom(m.GetRows(), newMessageFrom),
		Metrics: listFrom(m.GetMetrics(), newMetricFrom),
	}
}

func reservationTo(v pluginsdk.Reservation) *typesv1.Reservation {
	return &typesv1.Reservation{
		Account:   v.Account,
		LimitUsd:  v.LimitUSD,
		AmountUsd: v.AmountUSD,
	}
}

func reservationFrom(m *typesv1.Reservation) pluginsdk.Reservation {
	return pluginsdk.Reservation{
		Account:   m.GetAccount(),
		LimitUSD:  m.GetLimitUsd(),
		AmountUSD: m.GetAmountUsd(),
	}
}
