package problem_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
)

func recovered(handler http.HandlerFunc) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	problem.Recover(handler, slog.New(slog.DiscardHandler)).ServeHTTP(recorder, httptest.NewRequest("GET", "/", nil))
	return recorder
}

// A problem document in the middle of another answer would make it garbage.
func TestPanicInMidAnswerAddsNothing(t *testing.T) {
	got := recovered(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		panic("too late")
	})
	if got.Code != http.StatusOK || got.Body.String() != "half" {
		t.Errorf("%d %q", got.Code, got.Body)
	}
}

// net/http promises that this panic ends the connection in silence.
func TestAbortGoesOn(t *testing.T) {
	defer func() {
		if cause, _ := recover().(error); !errors.Is(cause, http.ErrAbortHandler) {
			t.Errorf("recovered %v", cause)
		}
	}()
	recovered(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}
