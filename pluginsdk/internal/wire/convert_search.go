package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func searchQueryTo(v pluginsdk.SearchQuery) *typesv1.SearchQuery {
	return &typesv1.SearchQuery{
		Text:      v.Text,
		ThreadIds: v.ThreadIDs,
		Roles:     namesTo(v.Roles),
		Kinds:     namesTo(v.Kinds),
		Author:    v.Author,
		Since:     timeTo(v.Since),
		Until:     timeTo(v.Until),
		Order:     string(v.Order),
		After:     v.After,
		Limit:     int64(v.Limit),
	}
}

func searchQueryFrom(m *typesv1.SearchQuery) pluginsdk.SearchQuery {
	return pluginsdk.SearchQuery{
		Text:      m.GetText(),
		ThreadIDs: m.GetThreadIds(),
		Roles:     namesFrom[pluginsdk.Role](m.GetRoles()),
		Kinds:     namesFrom[pluginsdk.MessageKind](m.GetKinds()),
		Author:    m.GetAuthor(),
		Since:     timeFrom(m.GetSince()),
		Until:     timeFrom(m.GetUntil()),
		Order:     pluginsdk.SearchOrder(m.GetOrder()),
		After:     m.GetAfter(),
		Limit:     int(m.GetLimit()),
	}
}

func searchHitTo(v pluginsdk.SearchHit) *typesv1.SearchHit {
	return &typesv1.SearchHit{
		MessageId:  v.MessageID,
		ThreadId:   v.ThreadID,
		ThreadName: v.ThreadName,
		Role:       string(v.Role),
		Kind:       string(v.Kind),
		Author:     v.Author,
		RunId:      v.RunID,
		Snippet:    v.Snippet,
		Marks:      listTo(v.Marks, spanTo),
		CreatedAt:  timeTo(v.CreatedAt),
	}
}

func searchHitFrom(m *typesv1.SearchHit) pluginsdk.SearchHit {
	return pluginsdk.SearchHit{
		MessageID:  m.GetMessageId(),
		ThreadID:   m.GetThreadId(),
		ThreadName: m.GetThreadName(),
		Role:       pluginsdk.Role(m.GetRole()),
		Kind:       pluginsdk.MessageKind(m.GetKind()),
		Author:     m.GetAuthor(),
		RunID:      m.GetRunId(),
		Snippet:    m.GetSnippet(),
		Marks:      listFrom(m.GetMarks(), spanFrom),
		CreatedAt:  timeFrom(m.GetCreatedAt()),
	}
}

func spanTo(v pluginsdk.Span) *typesv1.Span {
	return &typesv1.Span{
		Start: int64(v.Start),
		End:   int64(v.End),
	}
}

func spanFrom(m *typesv1.Span) pluginsdk.Span {
	return pluginsdk.Span{
		Start: int(m.GetStart()),
		End:   int(m.GetEnd()),
	}
}

func searchMessagesRequestTo(v pluginsdk.SearchMessagesRequest) *hostv1.SearchMessagesRequest {
	return &hostv1.SearchMessagesRequest{
		Query: searchQueryTo(v.Query),
	}
}

func searchMessagesRequestFrom(m *hostv1.SearchMessagesRequest) pluginsdk.SearchMessagesRequest {
	return pluginsdk.SearchMessagesRequest{
		Query: searchQueryFrom(m.GetQuery()),
	}
}

func searchMessagesResponseTo(v pluginsdk.SearchMessagesResponse) *hostv1.SearchMessagesResponse {
	return &hostv1.SearchMessagesResponse{
		Hits:   listTo(v.Hits, searchHitTo),
		Next:   v.Next,
		Newest: v.Newest,
	}
}

func searchMessagesResponseFrom(m *hostv1.SearchMessagesResponse) pluginsdk.SearchMessagesResponse {
	return pluginsdk.SearchMessagesResponse{
		Hits:   listFrom(m.GetHits(), searchHitFrom),
		Next:   m.GetNext(),
		Newest: m.GetNewest(),
	}
}
