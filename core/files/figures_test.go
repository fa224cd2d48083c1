package files_test

import (
	"fmt"
	"strings"
	"testing"
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
