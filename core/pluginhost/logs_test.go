package pluginhost

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A plugin that logs for a year must not fill the disk, and what it said last
// must be there.
func TestAPluginsLogIsBounded(t *testing.T) {
	h := New(Config{Logs: t.TempDir()}, newRegistry(), &bus{}, nobody{})
	t.Cleanup(h.logs.close)
	log := slog.New(fileHandler{file: h.logs.of("first")}).With("plugin", "first", "kept", "yes")
	text := strings.Repeat("x", 1000)
	const lines = 3000
	for n := range lines {
		log.Error(fmt.Sprintf("%d\n%s", n, text))
	}
	got, err := h.Logs(context.Background(), "first", 100)
	if err != nil || len(got) != 100 {
		t.Fatalf("%d lines, %v", len(got), err)
	}
	if last := got[99]; !strings.HasPrefix(last.Text, fmt.Sprintf(`%d\nxxx`, lines-1)) || !strings.HasSuffix(last.Text, "xxx kept=yes") ||
		last.Level != "error" || last.Time.IsZero() {
		t.Errorf("the last line is %.20q...", last.Text)
	}
	var size int64
	files, err := filepath.Glob(filepath.Join(h.config.Logs, "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > 2*maxLogBytes {
		t.Errorf("%d bytes of logs", size)
	}
}

func TestNoLogIsNoError(t *testing.T) {
	h := New(Config{Logs: t.TempDir()}, newRegistry(), &bus{}, nobody{})
	if lines, err := h.Logs(t.Context(), "nobody", 0); err != nil || len(lines) != 0 {
		t.Errorf("%v %v", lines, err)
	}
}
