package api_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// searches is a host's Search.
type searches struct{ *host }

func (h searches) Messages(_ context.Context, request *pluginsdk.SearchMessagesRequest) (*pluginsdk.SearchMessagesResponse, error) {
	response := &pluginsdk.SearchMessagesResponse{}
	if request.Query.Text != "" {
		response.Hits = []pluginsdk.SearchHit{{MessageID: 7, ThreadID: "T", Snippet: "the words", Marks: []pluginsdk.Span{{Start: 4, End: 9}}}}
		response.Next, response.Newest = "N", true
	}
	return response, h.ask(request.Query)
}

func TestSearching(t *testing.T) {
	f := serve(t)
	if got := f.send("GET", "/api/search", ""); got.status != 200 || got.raw != `{"hits":[],"newest":false}`+"\n" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	got := f.send("GET", "/api/search?q=%22two+words%22+*&thread=T&thread=U&role=user&role=system&kind=text&author=ann"+
		"&since=2020-01-02T03:04:05Z&until=2021-01-02T03:04:05Z&order=newest&after=A&limit=7", "")
	if got.status != 200 || !strings.Contains(got.raw, `"marks":[{"start":4,"end":9}]`) || !strings.Contains(got.raw, `"next":"N","newest":true`) {
		t.Errorf("%d %s", got.status, got.raw)
	}
	want := []any{pluginsdk.SearchQuery{Order: pluginsdk.SearchRanked, Limit: 20}, pluginsdk.SearchQuery{
		Text: `"two words" *`, ThreadIDs: []string{"T", "U"}, Roles: []pluginsdk.Role{pluginsdk.RoleUser, pluginsdk.RoleSystem},
		Kinds: []pluginsdk.MessageKind{pluginsdk.MessageText}, Author: "ann", Order: pluginsdk.SearchNewest, After: "A", Limit: 7,
		Since: time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), Until: time.Date(2021, 1, 2, 3, 4, 5, 0, time.UTC),
	}}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
	for query, field := range map[string]string{"role=x": "query.role", "kind=thinking": "query.kind", "since=soon": "query.since", "order=oldest": "query.order", "limit=101": "query.limit"} {
		f.isProblem(f.send("GET", "/api/search?q=x&"+query, ""), 422, field)
	}
}
