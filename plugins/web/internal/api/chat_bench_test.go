package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// BenchmarkChat is what the API adds to a message on its way to the host.
func BenchmarkChat(b *testing.B) {
	mux := http.NewServeMux()
	if err := api.Register(mux, api.Config{Host: pluginsdk.Host{Messages: messages{host: new(host)}}}); err != nil {
		b.Fatal(err)
	}
	handler := as(access.Caller{Open: true}, problem.Routes(mux, mux))
	b.ReportAllocs()
	for b.Loop() {
		request := httptest.NewRequest("POST", "/api/chat", strings.NewReader(`{"threadId":"T","content":"hello"}`))
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		if handler.ServeHTTP(answer, request); answer.Code != http.StatusAccepted {
			b.Fatalf("answered %d: %s", answer.Code, answer.Body)
		}
	}
}
