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

// Of an answer that the server fails in the middle of, nobody must take the beginning for the
// whole, or find a problem document in it.
func TestPanicInMidAnswerBreaksItOff(t *testing.T) {
	recorder := httptest.NewRecorder()
	half := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		panic("too late")
	})
	defer func() {
		if cause, _ := recover().(error); !errors.Is(cause, http.ErrAbortHandler) || recorder.Body.String() != "half" {
			t.Errorf("recovered %v, and %q was sent", cause, recorder.Body)
		}
	}()
	problem.Recover(half, slog.New(slog.DiscardHandler)).ServeHTTP(recorder, httptest.NewRequest("GET", "/", nil))
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
