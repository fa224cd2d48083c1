package api_test

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What waits for a person is at the top, whatever has been asked before.
func TestApprovalsAreListedNewestFirst(t *testing.T) {
	f := serve(t)
	if got := f.send("GET", "/api/approvals", ""); got.status != 200 || got.raw != `{"approvals":[],"more":false}`+"\n" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.host.approvals = []pluginsdk.Approval{{ID: "A", State: pluginsdk.ApprovalOpen, Title: "may I?", Input: []byte(`{"command":"long"}`)}}
	got := f.send("GET", "/api/approvals?state=open&state=expired&thread=T&below=true&run=R&newest=false&after=B&limit=7", "")
	if strings.Contains(got.raw, "long") || !strings.Contains(got.raw, `"title":"may I?"`) || !strings.Contains(got.raw, `"more":true`) {
		t.Errorf("%d %s", got.status, got.raw)
	}
	want := []any{pluginsdk.ApprovalQuery{Newest: true, Limit: 100}, pluginsdk.ApprovalQuery{
		ThreadID: "T", Below: true, RunID: "R", States: []pluginsdk.ApprovalState{pluginsdk.ApprovalOpen, pluginsdk.ApprovalExpired}, After: "B", Limit: 7,
	}}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
	f.isProblem(f.send("GET", "/api/approvals?state=maybe", ""), 422, "query.state")
	if got := f.send("GET", "/api/approvals/A", ""); got.status != 200 || !strings.Contains(got.raw, "long") {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.isProblem(f.send("GET", "/api/approvals/B", ""), 404, "no approval")
}

// An answer must not be taken for somebody else's, nor a late one for the first.
func TestAPersonAnswersTheAgent(t *testing.T) {
	f := serve(t)
	for _, body := range []string{
		`{"choice":"allow","author":"Ann"}`, `{"choice":"deny","words":"use make"}`,
		`{"answers":[{"labels":["this","that"]},{"text":"another"}],"author":"Ann"}`,
	} {
		if got := f.send("POST", "/api/approvals/A/decide", body); got.status != 200 || got.body["state"] != "allowed" {
			t.Errorf("%s: %d %s", body, got.status, got.raw)
		}
	}
	want := []any{
		pluginsdk.DecideApprovalRequest{ID: "A", Choice: "allow", Author: "Ann"},
		pluginsdk.DecideApprovalRequest{ID: "A", Choice: "deny", Words: "use make", Author: "a person"},
		pluginsdk.DecideApprovalRequest{ID: "A", Answers: []pluginsdk.QuestionAnswer{{Labels: []string{"this", "that"}}, {Text: "another"}}, Author: "Ann"},
	}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
	request := httptest.NewRequest(http.MethodPost, "/api/approvals/A/decide", strings.NewReader(`{"choice":"allow","author":"Ann"}`))
	request.Header.Set("Content-Type", "application/json")
	f.handler.ServeHTTP(httptest.NewRecorder(), request.WithContext(pluginsdk.WithPerson(request.Context(), "Bob")))
	if got, ok := f.host.asked[len(f.host.asked)-1].(pluginsdk.DecideApprovalRequest); !ok || got.Author != "Bob" {
		t.Errorf("with Bob's token: %+v", got)
	}
	for _, body := range []string{`{}`, `{"words":"yes"}`, `{"choice":"allow","answers":[{"text":"x"}]}`} {
		f.isProblem(f.send("POST", "/api/approvals/A/decide", body), 422, "choice")
	}
	for code, status := range map[pluginsdk.Code]int{pluginsdk.CodeStale: 409, pluginsdk.CodeInvalid: 422, pluginsdk.CodeDenied: 403} {
		f.host.err = pluginsdk.Errorf(code, "approval A was denied by Ann")
		f.isProblem(f.send("POST", "/api/approvals/A/decide", `{"choice":"allow"}`), status, "denied by Ann")
	}
}

func TestRulesAreListedAndRevoked(t *testing.T) {
	f := serve(t)
	if got := f.send("GET", "/api/approvals/rules", ""); got.status != 200 || got.raw != `{"rules":[],"more":false}`+"\n" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.host.rules = []pluginsdk.ApprovalRule{{ID: "L", Text: "commands that begin with make"}}
	if got := f.send("GET", "/api/approvals/rules?thread=T&after=K&limit=7", ""); !strings.Contains(got.raw, "begin with make") || !strings.Contains(got.raw, `"more":true`) {
		t.Errorf("%d %s", got.status, got.raw)
	}
	for _, path := range []string{"/api/approvals/rules/L", "/api/approvals/rules/L?author=Ann"} {
		recorder := httptest.NewRecorder()
		f.handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodDelete, path, nil))
		if recorder.Code != 204 || recorder.Body.Len() > 0 {
			t.Errorf("%d %s", recorder.Code, recorder.Body)
		}
	}
	want := []any{
		pluginsdk.ListApprovalRulesRequest{Limit: 100}, pluginsdk.ListApprovalRulesRequest{ThreadID: "T", After: "K", Limit: 7},
		pluginsdk.RevokeApprovalRuleRequest{ID: "L", Author: "a person"}, pluginsdk.RevokeApprovalRuleRequest{ID: "L", Author: "Ann"},
	}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
}

// Who sends from where nobody can answer must not wait for somebody.
func TestAMessageSaysThatNobodyIsThere(t *testing.T) {
	f := serve(t)
	for _, body := range []string{`{"content":"go","unattended":true}`, `{"content":"go"}`} {
		if got := f.send("POST", "/api/chat", body); got.status != 202 {
			t.Errorf("%d %s", got.status, got.raw)
		}
	}
	for n, unattended := range []bool{true, false} {
		if got, ok := f.host.asked[n].(pluginsdk.Submission); !ok || got.Unattended != unattended {
			t.Errorf("submitted %+v", f.host.asked[n])
		}
	}
}
