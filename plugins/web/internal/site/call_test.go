package site_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a-h/templ"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// open returns a site whose pages ask api, and what answers browsers that may everything.
func open(t *testing.T, api http.Handler) (s *site.Site, answers http.Handler) {
	t.Helper()
	mux := http.NewServeMux()
	s, err := site.New(mux, site.Config{
		API: api, Position: func() pluginsdk.Position { return pluginsdk.Position{} }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, s.Errors(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Caller{Open: true})))
	}))
}

func TestALongProblemIsAPageThatBrowsersCanRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("the setting colour is not one of those that there are; ", 60)
	s, answers := open(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { problem.Write(w, http.StatusUnprocessableEntity, long) }))
	s.Page("GET /long", pluginsdk.ScopeRead, func(r *http.Request) (site.View, error) {
		return site.View{}, s.Get(r.Context(), "/api/x", nil, nil)
	})
	server := httptest.NewServer(answers)
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/long", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	answer, err := http.DefaultClient.Do(request) // it says that it takes gzip, and unpacks it
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(page), long[:200]) {
		t.Errorf("%d %v: %s", answer.StatusCode, err, page)
	}
}

func TestWhatTheAPIDoesNotAnswerIsNotTakenForDone(t *testing.T) {
	t.Parallel()
	api := http.NewServeMux()
	asked := ""
	api.HandleFunc("POST /api/tokens/{id}/revoke", func(_ http.ResponseWriter, r *http.Request) { asked = r.PathValue("id") })
	s, _ := open(t, api)
	for _, path := range []string{"/api/tokens/../revoke", "/api/tokens//revoke"} {
		if err := s.Post(t.Context(), path, nil, nil); site.Status(err) != http.StatusNotFound || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := s.Post(t.Context(), "/api/tokens/a%2Fb%3Fc/revoke", nil, nil); err != nil || asked != "a/b?c" {
		t.Errorf("an id with signs in it: %v, asked for %q", err, asked)
	}
}

func TestAnAPIThatFailsTakesNobodyWithIt(t *testing.T) {
	t.Parallel()
	s, _ := open(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a bug") }))
	if err := s.Get(context.Background(), "/api/x", nil, nil); site.Status(err) != http.StatusInternalServerError {
		t.Errorf("the error: %v", err)
	}
}

func TestWhoIsAskedOnceMoreIsLedNowhereElse(t *testing.T) {
	t.Parallel()
	s, _ := open(t, http.NotFoundHandler())
	refused := s.Errors(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { access.Unauthorized(w, "a token is demanded", false, "") }))
	request := httptest.NewRequest(http.MethodGet, "http://127.0.0.1//evil.example/x", nil)
	request.Header.Set("Accept", "text/html")
	request.Header.Set("Sec-Fetch-Site", "same-site")
	answer := httptest.NewRecorder()
	refused.ServeHTTP(answer, request)
	if page := answer.Body.String(); strings.Contains(page, "//evil.example") || !strings.Contains(page, `href="/"`) {
		t.Errorf("the page leads on to: %s", page)
	}
}

func TestTheThemeIsChosenOnAPageThatAFormHasAnswered(t *testing.T) {
	t.Parallel()
	s, answers := open(t, http.NotFoundHandler())
	s.Form("POST /things/drop", pluginsdk.ScopeRead, func(*http.Request) (site.Done, error) {
		return site.Done{}, &site.Again{View: site.View{Title: "Once more", Body: templ.NopComponent}}
	})
	request := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/things/drop", strings.NewReader("a=b"))
	for name, value := range map[string]string{
		"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin", "Referer": "http://127.0.0.1/things?page=2",
	} {
		request.Header.Set(name, value)
	}
	request.Host = "127.0.0.1"
	answer := httptest.NewRecorder()
	answers.ServeHTTP(answer, request)
	if page := answer.Body.String(); !strings.Contains(page, `name="back" value="/things?page=2"`) {
		t.Errorf("the theme leads back to what can only be sent: %d %s", answer.Code, page)
	}
}

func TestNamesAreNotAskedForInVain(t *testing.T) {
	t.Parallel()
	const threads, atOnce = 40, 8
	ids := make([]string, threads)
	for n := range ids {
		ids[n] = "thread-" + strconv.Itoa(n)
	}
	for status, most := range map[int]int64{http.StatusServiceUnavailable: 2 * atOnce, http.StatusNotFound: threads} {
		var asked atomic.Int64
		s, _ := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Context().Err() == nil {
				asked.Add(1)
			}
			problem.Write(w, status, "not now")
		}))
		if names := s.ThreadNames(t.Context(), ids...); len(names) != threads || names["thread-9"] == "" || asked.Load() > most {
			t.Errorf("%d: asked %d times, at most %d wanted: %v", status, asked.Load(), most, names)
		}
	}
}
