package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func messageTo(v pluginsdk.Message) *typesv1.Message {
	return &typesv1.Message{
		Id:          v.ID,
		ThreadId:    v.ThreadID,
		Role:        string(v.Role),
		Kind:        string(v.Kind),
		Source:      v.Source,
		Plugin:      v.Plugin,
		Author:      v.Author,
		Content:     v.Content,
		Model:       v.Model,
		Metadata:    v.Metadata,
		Attachments: listTo(v.Attachments, attachmentTo),
		RunId:       v.RunID,
		Key:         v.Key,
		CreatedAt:   timeTo(v.CreatedAt),
		Scope:       string(v.Scope),
		Origin:      originTo(v.Origin),
	}
}

func messageFrom(m *typesv1.Message) pluginsdk.Message {
	return pluginsdk.Message{
		ID:          m.GetId(),
		ThreadID:    m.GetThreadId(),
		Role:        pluginsdk.Role(m.GetRole()),
		Kind:        pluginsdk.MessageKind(m.GetKind()),
		Source:      m.GetSource(),
		Plugin:      m.GetPlugin(),
		Author:      m.GetAuthor(),
		Content:     m.GetContent(),
		Model:       m.GetModel(),
		Metadata:    m.GetMetadata(),
		Attachments: listFrom(m.GetAttachments(), attachmentFrom),
		RunID:       m.GetRunId(),
		Key:         m.GetKey(),
		CreatedAt:   timeFrom(m.GetCreatedAt()),
		Scope:       pluginsdk.TokenScope(m.GetScope()),
		Origin:      originFrom(m.GetOrigin()),
	}
}

func attachmentTo(v pluginsdk.Attachment) *typesv1.Attachment {
	return &typesv1.Attachment{
		Name:  v.Name,
		Type:  v.Type,
		Size:  v.Size,
		Where: v.Where,
	}
}

func attachmentFrom(m *typesv1.Attachment) pluginsdk.Attachment {
	return pluginsdk.Attachment{
		Name:  m.GetName(),
		Type:  m.GetType(),
		Size:  m.GetSize(),
		Where: m.GetWhere(),
	}
}

func newMessageTo(v pluginsdk.NewMessage) *typesv1.NewMessage {
	return &typesv1.NewMessage{
		Role:        string(v.Role),
		Kind:        string(v.Kind),
		Source:      v.Source,
		Content:     v.Content,
		Model:       v.Model,
		Metadata:    v.Metadata,
		Attachments: listTo(v.Attachments, attachmentTo),
	}
}

func newMessageFrom(m *typesv1.NewMessage) pluginsdk.NewMessage {
	return pluginsdk.NewMessage{
		Role:        pluginsdk.Role(m.GetRole()),
		Kind:        pluginsdk.MessageKind(m.GetKind()),
		Source:      m.GetSource(),
		Content:     m.GetContent(),
		Model:       m.GetModel(),
		Metadata:    m.GetMetadata(),
		Attachments: listFrom(m.GetAttachments(), attachmentFrom),
	}
}

func messageQueryTo(v pluginsdk.MessageQuery) *typesv1.MessageQuery {
	return &typesv1.MessageQuery{
		ThreadId:    v.ThreadID,
		After:       v.After,
		Before:      v.Before,
		Roles:       namesTo(v.Roles),
		Kinds:       namesTo(v.Kinds),
		RunId:       v.RunID,
		BeforeRunId: v.BeforeRunID,
		Last:        v.Last,
		Limit:       int64(v.Limit),
	}
}

func messageQueryFrom(m *typesv1.MessageQuery) pluginsdk.MessageQuery {
	return pluginsdk.MessageQuery{
		ThreadID:    m.GetThreadId(),
		After:       m.GetAfter(),
		Before:      m.GetBefore(),
		Roles:       namesFrom[pluginsdk.Role](m.GetRoles()),
		Kinds:       namesFrom[pluginsdk.MessageKind](m.GetKinds()),
		RunID:       m.GetRunId(),
		BeforeRunID: m.GetBeforeRunId(),
		Last:        m.GetLast(),
		Limit:       int(m.GetLimit()),
	}
}

func submissionTo(v pluginsdk.Submission) *typesv1.Submission {
	return &typesv1.Submission{
		ThreadId:    v.ThreadID,
		Source:      v.Source,
		Key:         v.Key,
		Author:      v.Author,
		Content:     v.Content,
		Attachments: listTo(v.Attachments, attachmentTo),
		CauseRunId:  v.CauseRunID,
		Metadata:    v.Metadata,
		Unattended:  v.Unattended,
		Scope:       string(v.Scope),
		Options:     pointerTo(v.Options, runOptionsTo),
	}
}

func runOptionsTo(v pluginsdk.RunOptions) *typesv1.RunOptions {
	return &typesv1.RunOptions{
		Purpose:         v.Purpose,
		Session:         string(v.Session),
		QuietReply:      v.QuietReply,
		QuietNotices:    v.QuietNotices,
		Model:           v.Model,
		Effort:          v.Effort,
		PermissionMode:  v.PermissionMode,
		AllowedTools:    v.AllowedTools,
		DisallowedTools: v.DisallowedTools,
		CostCapUsd:      v.CostCapUSD,
		Timeout:         durationTo(v.Timeout),
	}
}

func runOptionsFrom(m *typesv1.RunOptions) pluginsdk.RunOptions {
	return pluginsdk.RunOptions{
		Purpose:         m.GetPurpose(),
		Session:         pluginsdk.TurnSession(m.GetSession()),
		QuietReply:      m.GetQuietReply(),
		QuietNotices:    m.GetQuietNotices(),
		Model:           m.GetModel(),
		Effort:          m.GetEffort(),
		PermissionMode:  m.GetPermissionMode(),
		AllowedTools:    m.GetAllowedTools(),
		DisallowedTools: m.GetDisallowedTools(),
		CostCapUSD:      m.GetCostCapUsd(),
		Timeout:         durationFrom(m.GetTimeout()),
	}
}

func submissionFrom(m *typesv1.Submission) pluginsdk.Submission {
	return pluginsdk.Submission{
		ThreadID:    m.GetThreadId(),
		Source:      m.GetSource(),
		Key:         m.GetKey(),
		Author:      m.GetAuthor(),
		Content:     m.GetContent(),
		Attachments: listFrom(m.GetAttachments(), attachmentFrom),
		CauseRunID:  m.GetCauseRunId(),
		Metadata:    m.GetMetadata(),
		Unattended:  m.GetUnattended(),
		Scope:       pluginsdk.TokenScope(m.GetScope()),
		Options:     pointerFrom(m.GetOptions(), runOptionsFrom),
	}
}

func acceptedTo(v pluginsdk.Accepted) *typesv1.Accepted {
	return &typesv1.Accepted{
		ThreadId:  v.ThreadID,
		MessageId: v.MessageID,
		RunId:     v.RunID,
		Existed:   v.Existed,
	}
}

func acceptedFrom(m *typesv1.Accepted) pluginsdk.Accepted {
	return pluginsdk.Accepted{
		ThreadID:  m.GetThreadId(),
		MessageID: m.GetMessageId(),
		RunID:     m.GetRunId(),
		Existed:   m.GetExisted(),
	}
}

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
		Reason:    v.Reason,
		CapAtRest: v.CapAtRest,
		Wait:      pointerTo(v.Wait, waitTo),
		Unit:      string(v.Unit),
	}
}

func reservationFrom(m *typesv1.Reservation) pluginsdk.Reservation {
	return pluginsdk.Reservation{
		Account:   m.GetAccount(),
		LimitUSD:  m.GetLimitUsd(),
		AmountUSD: m.GetAmountUsd(),
		Reason:    m.GetReason(),
		CapAtRest: m.GetCapAtRest(),
		Wait:      pointerFrom(m.GetWait(), waitFrom),
		Unit:      pluginsdk.Unit(m.GetUnit()),
	}
}

func waitTo(v pluginsdk.Wait) *typesv1.Wait {
	return &typesv1.Wait{For: v.For, Until: timeTo(v.Until)}
}

func waitFrom(m *typesv1.Wait) pluginsdk.Wait {
	return pluginsdk.Wait{For: m.GetFor(), Until: timeFrom(m.GetUntil())}
}

func budgetAccountTo(v pluginsdk.BudgetAccount) *typesv1.BudgetAccount {
	return &typesv1.BudgetAccount{
		SpentUsd:    v.SpentUSD,
		SetAsideUsd: v.SetAsideUSD,
		LimitUsd:    v.LimitUSD,
	}
}

func budgetAccountFrom(m *typesv1.BudgetAccount) pluginsdk.BudgetAccount {
	return pluginsdk.BudgetAccount{
		SpentUSD:    m.GetSpentUsd(),
		SetAsideUSD: m.GetSetAsideUsd(),
		LimitUSD:    m.GetLimitUsd(),
	}
}

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
