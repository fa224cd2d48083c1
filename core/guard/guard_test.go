package guard

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who looks for a fault finds what it was and where, and who called is told as
// of any other error.
func TestAPanicIsAnErrorWithItsStackInTheLog(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil)).With("thread", "T")
	err := Call(logger, "the test's round", func() error { return tumble(nil) })
	if pluginsdk.CodeOf(err) != pluginsdk.CodeInternal || !strings.Contains(err.Error(), "a fault of Harness itself: ") {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"level=ERROR", "thread=T", `in="the test's round"`, "assignment to entry in nil map", "guard.tumble"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, log.String())
		}
	}
	if !Try(logger, "the same", func() { _ = tumble(nil) }) {
		t.Error("a panic was not reported")
	}
}

func tumble(m map[string]int) error {
	m["x"] = 1
	return nil
}

func TestWhatDoesNotPanicIsLeftAsItIs(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	refused := errors.New("refused")
	if err := Call(log, "x", func() error { return refused }); err != refused { //nolint:errorlint // the very same
		t.Errorf("error %v", err)
	}
	if Try(log, "x", func() {}) {
		t.Error("a panic was reported")
	}
}
