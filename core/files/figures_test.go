package files_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// An operator is told that the room for files comes to its end before people cannot send any
// more.
func TestFiguresOfFiles(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		wants := func(when, want string) {
			t.Helper()
			var told []string
			for _, figure := range w.room.Figures() {
				told = append(told, fmt.Sprintf("%s %v", figure.Name, figure.Samples[0].Value))
			}
			if got := strings.Join(told, ", "); got != want {
				t.Errorf("%s: %s\nwant %s", when, got, want)
			}
		}
		const quota = "harness_files_quota_bytes 4.194304e+06, "
		wants("before", "harness_files_bytes 0, "+quota+"harness_files_uploads 0")
		w.begin("announced", 1000)
		file := w.must(w.put("kept", []byte("seven b")))
		wants("with one of each", "harness_files_bytes 1007, "+quota+"harness_files_uploads 1")
		if _, _, err := w.room.Delete(t.Context(), file.ID); err != nil {
			t.Fatal(err)
		}
		wants("without the file", "harness_files_bytes 1000, "+quota+"harness_files_uploads 1")
	})
}

// Figures are for the time when the database is away, too: a sweep that waits for it holds
// neither them up nor who sends a file.
func TestASweepThatWaitsHoldsNobodyUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.must(w.put("kept", []byte("bytes")))
		waits, goOn := make(chan struct{}), make(chan struct{})
		w.config.Fault = func(step string) error {
			if step == "sweep" {
				close(waits)
				<-goOn
			}
			return nil
		}
		w.open()
		w.tick <- time.Time{}
		<-waits
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.begin("meanwhile", 7)
			if figures := w.room.Figures(); figures[0].Samples[0].Value != 12 {
				t.Errorf("told %+v", figures)
			}
		}()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Error("they wait for the sweep")
		}
		close(goOn)
		<-done
	})
}
