package hostapi

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What is a plugin's own: its events, its settings, its state, what it has measured.

const (
	maxStateValue = 1 << 20
	maxEventData  = 256 << 10
	maxEventType  = 256  // bytes, also of the id of its thread
	maxMetrics    = 1000 // of one call
	maxAccount    = 200  // bytes of the name of an account, as in a reservation
)

type busEvents struct{ *caller }

func (s busEvents) Publish(_ context.Context, request *pluginsdk.PublishEventRequest) (*pluginsdk.PublishEventResponse, error) {
	return serve(s.caller, "Events.Publish", func() (*pluginsdk.PublishEventResponse, error) {
		event := pluginsdk.Event{Type: request.Type, ThreadID: request.ThreadID, Data: request.Data}
		if err := checkLengths(length{"type", len(event.Type), maxEventType}, length{"threadId", len(event.ThreadID), maxEventType}); err != nil {
			return nil, err
		}
		switch {
		case !strings.HasPrefix(string(event.Type), s.plugin+":"):
			return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "event %q: a plugin publishes only under its own name, %s:...", event.Type, s.plugin)
		case len(event.Data) > 0 && !json.Valid(event.Data):
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "event %s: its data is not JSON", event.Type)
		case len(event.Data) > maxEventData:
			return nil, pluginsdk.Errorf(pluginsdk.CodeExhausted, "event %s: at most %d bytes, this has %d", event.Type, maxEventData, len(event.Data))
		}
		// It is stored nowhere, but it takes the place of others' in the ring and in
		// every subscriber's queue.
		if err := s.Quotas.pace(s.plugin, 0, int64(len(event.Data))+ledger.RowBytes); err != nil {
			return nil, err
		}
		s.Events.Relay(event)
		return &pluginsdk.PublishEventResponse{}, nil
	})
}

func (s busEvents) List(_ context.Context, request *pluginsdk.ListEventsRequest) (*pluginsdk.ListEventsResponse, error) {
	return serve(s.caller, "Events.List", func() (*pluginsdk.ListEventsResponse, error) {
		answer := s.Events.Since(request.After, request.Limit)
		if fits := page(answer.Events, false, sizeOfEvent); len(fits) < len(answer.Events) {
			answer.Events, answer.Next.Seq = fits, fits[len(fits)-1].Seq
		}
		return &answer, nil
	})
}

// Listen reads nothing, and stores nothing: it counts as a call, and needs no place at the
// database.
func (s busEvents) Listen(_ context.Context, request *pluginsdk.ListenEventsRequest) (*pluginsdk.ListenEventsResponse, error) {
	return serve(s.caller, "Events.Listen", func() (*pluginsdk.ListenEventsResponse, error) {
		if err := pluginsdk.CheckEventRules(request.Rules); err != nil {
			return nil, err
		}
		if s.listen == nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the plugin %s has no process that is told events", s.plugin)
		}
		position, err := s.listen(request.Rules)
		return &pluginsdk.ListenEventsResponse{Position: position}, err
	})
}

type settings struct{ *caller }

// Get returns the settings of the plugin that asks, and of no other.
func (s settings) Get(ctx context.Context, _ *pluginsdk.GetSettingsRequest) (*pluginsdk.GetSettingsResponse, error) {
	return serve(s.caller, "Settings.Get", func() (*pluginsdk.GetSettingsResponse, error) {
		if settings, ok := s.Grants.SettingsOf(s.plugin); ok {
			return &pluginsdk.GetSettingsResponse{Settings: settings}, nil
		}
		settings, err := s.Settings.Get(ctx, s.plugin)
		return &pluginsdk.GetSettingsResponse{Settings: settings}, err
	})
}

type state struct{ *caller }

func (s state) Get(ctx context.Context, request *pluginsdk.GetStateRequest) (*pluginsdk.GetStateResponse, error) {
	return serve(s.caller, "State.Get", func() (*pluginsdk.GetStateResponse, error) {
		entry, err := s.Store.GetState(ctx, s.plugin, request.Key)
		return &pluginsdk.GetStateResponse{Entry: entry}, err
	})
}

func (s state) Put(ctx context.Context, request *pluginsdk.PutStateRequest) (*pluginsdk.PutStateResponse, error) {
	return serve(s.caller, "State.Put", func() (*pluginsdk.PutStateResponse, error) {
		key, value := request.Key, request.Value
		switch {
		case key == "" || len(key) > maxKey:
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "key: 1 to %d bytes, this has %d", maxKey, len(key))
		case len(value) > maxStateValue:
			return nil, pluginsdk.Errorf(pluginsdk.CodeExhausted, "value of %s: at most %d bytes, this has %d", key, maxStateValue, len(value))
		}
		var response pluginsdk.PutStateResponse
		replaced := func(ctx context.Context) int64 {
			entry, err := s.Store.GetState(ctx, s.plugin, key)
			if err != nil {
				return 0 // there is none, or nobody knows
			}
			return int64(len(key) + len(entry.Value))
		}
		err := s.writeLoad(ctx, load{rows: 1, bytes: int64(len(key) + len(value)), replaced: replaced}, func() (err error) {
			response.Revision, err = s.Store.WriteState(ctx, ledger.StateWrite{Plugin: s.plugin, Key: key, Value: value, If: request.If})
			return err
		})
		return &response, err
	})
}

func (s state) Delete(ctx context.Context, request *pluginsdk.DeleteStateRequest) (*pluginsdk.DeleteStateResponse, error) {
	return serve(s.caller, "State.Delete", func() (*pluginsdk.DeleteStateResponse, error) {
		err := s.write(ctx, 1, 0, func() error {
			_, err := s.Store.WriteState(ctx, ledger.StateWrite{Plugin: s.plugin, Key: request.Key, Delete: true, If: request.If})
			return err
		})
		return &pluginsdk.DeleteStateResponse{}, err
	})
}

func (s state) List(ctx context.Context, request *pluginsdk.ListStateRequest) (*pluginsdk.ListStateResponse, error) {
	return serve(s.caller, "State.List", func() (*pluginsdk.ListStateResponse, error) {
		response, err := s.Store.ListState(ctx, s.plugin, *request)
		return &response, err
	})
}

type metrics struct{ *caller }

func (s metrics) Record(ctx context.Context, request *pluginsdk.RecordMetricsRequest) (*pluginsdk.RecordMetricsResponse, error) {
	return serve(s.caller, "Metrics.Record", func() (*pluginsdk.RecordMetricsResponse, error) {
		values := request.Metrics
		if len(values) > maxMetrics {
			return nil, pluginsdk.Errorf(pluginsdk.CodeExhausted, "metrics: at most %d at once, these are %d", maxMetrics, len(values))
		}
		var size int64
		for n, value := range values {
			if err := checkTime(fmt.Sprintf("metrics[%d]: at", n), value.At); err != nil {
				return nil, err
			}
			size += sizeOfMetric(value)
		}
		err := s.write(ctx, len(values), size, func() error { return s.Store.RecordMetrics(ctx, s.plugin, values) })
		return &pluginsdk.RecordMetricsResponse{}, err
	})
}

func (s metrics) Figures(ctx context.Context, _ *pluginsdk.ListFiguresRequest) (*pluginsdk.ListFiguresResponse, error) {
	return serve(s.caller, "Metrics.Figures", func() (*pluginsdk.ListFiguresResponse, error) {
		return &pluginsdk.ListFiguresResponse{Figures: s.Daemon(ctx)}, nil
	})
}

// sizeOfMetric is how many bytes of words a value has.
func sizeOfMetric(value pluginsdk.NewMetric) int64 {
	size := len(value.Key) + len(value.Name) + len(value.ThreadID)
	for tag, text := range value.Tags {
		size += len(tag) + len(text)
	}
	return int64(size)
}

func (s metrics) Query(ctx context.Context, request *pluginsdk.QueryMetricsRequest) (*pluginsdk.QueryMetricsResponse, error) {
	return serve(s.caller, "Metrics.Query", func() (*pluginsdk.QueryMetricsResponse, error) {
		rows, err := s.Store.QueryMetrics(ctx, request.Query)
		return &pluginsdk.QueryMetricsResponse{Metrics: page(rows, false, sizeOf)}, err
	})
}

type budgets struct{ *caller }

// Account returns an account of the plugin that asks, and of no other.
func (s budgets) Account(ctx context.Context, request *pluginsdk.GetBudgetAccountRequest) (*pluginsdk.GetBudgetAccountResponse, error) {
	return serve(s.caller, "Budgets.Account", func() (*pluginsdk.GetBudgetAccountResponse, error) {
		account, err := s.Store.BudgetAccount(ctx, s.plugin, request.Name)
		return &pluginsdk.GetBudgetAccountResponse{Account: account}, err
	})
}

// Recheck has the runs tried again that wait for the plugin that asks, and no others.
func (s budgets) Recheck(ctx context.Context, _ *pluginsdk.RecheckBudgetsRequest) (*pluginsdk.RecheckBudgetsResponse, error) {
	return serve(s.caller, "Budgets.Recheck", func() (*pluginsdk.RecheckBudgetsResponse, error) {
		return &pluginsdk.RecheckBudgetsResponse{}, s.Inbox.Recheck(ctx, s.plugin)
	})
}

// CountSpent counts in an account of the plugin that asks, and in no other.
func (s budgets) CountSpent(ctx context.Context, request *pluginsdk.CountSpentRequest) (*pluginsdk.CountSpentResponse, error) {
	return serve(s.caller, "Budgets.CountSpent", func() (*pluginsdk.CountSpentResponse, error) {
		switch {
		case request.Account == "" || len(request.Account) > maxAccount || strings.ContainsRune(request.Account, 0) || !utf8.ValidString(request.Account):
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "account: want 1 to %d bytes of text, got %.40q", maxAccount, request.Account)
		case request.Unit != pluginsdk.UnitUSD && request.Unit != pluginsdk.UnitTokens:
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "unit: %q is not accepted: want %s, or nothing for US dollars", request.Unit, pluginsdk.UnitTokens)
		case !(request.AtLeast >= 0) || math.IsInf(request.AtLeast, 0): // also what is no number
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "atLeast: must be 0 or more, got %v", request.AtLeast)
		}
		account, err := s.Store.CountSpent(ctx, s.plugin, *request)
		return &pluginsdk.CountSpentResponse{Account: account}, err
	})
}
