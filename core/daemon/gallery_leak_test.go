package daemon_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"
)

// tally is what must be as it was once a plugin is gone.
type tally struct {
	descriptors, goroutines int
	children                int // of this process, the dead ones included
	marked                  int // processes that carry the installation's mark
	sockets, temporary      int // directory entries
}

func (t tally) within(limit tally) bool {
	return t.descriptors <= limit.descriptors && t.goroutines <= limit.goroutines && t.children <= limit.children &&
		t.marked <= limit.marked && t.sockets <= limit.sockets && t.temporary <= limit.temporary
}

func (t tally) String() string {
	return fmt.Sprintf("fds=%d goroutines=%d children=%d marked=%d sockets=%d temp=%d",
		t.descriptors, t.goroutines, t.children, t.marked, t.sockets, t.temporary)
}

func (h *hall) count() tally {
	h.t.Helper()
	http.DefaultClient.CloseIdleConnections()
	runtime.GC() // go-plugin leaves a listener that it could not announce to the collector
	return tally{
		descriptors: len(descriptors()), goroutines: runtime.NumGoroutine(),
		children: children(), marked: len(marked(h.t, h.installation)),
		sockets: h.entries(filepath.Join(h.config.Data, "run")), temporary: h.entries(h.temp),
	}
}

func (h *hall) entries(dir string) int {
	h.t.Helper()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0 // the sockets are where there is room for their names
	}
	h.must(err)
	return len(entries)
}

func children() int {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	n := 0
	for _, list := range lists {
		content, _ := os.ReadFile(list) // the thread may have ended
		n += len(bytes.Fields(content))
	}
	return n
}

// rest waits until the counts have not fallen for a while, and returns them at their
// lowest: a daemon that polls is never quite still.
func (h *hall) rest() tally {
	h.t.Helper()
	lowest, since := h.count(), time.Now()
	h.until("a moment of rest", func() bool {
		if now := h.count(); now != lowest && now.within(lowest) {
			lowest, since = now, time.Now()
		}
		return time.Since(since) > 300*time.Millisecond
	})
	return lowest
}

// settle waits until there is no more than before.
func (h *hall) settle(before tally) {
	h.t.Helper()
	deadline := time.Now().Add(patience / 2)
	for {
		now := h.count()
		if now.within(before) {
			return
		}
		if time.Now().After(deadline) {
			var stacks strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			h.t.Errorf("left behind: before %s\nnow %s\n%s\n%s\n%s", before, now,
				strings.Join(marked(h.t, h.installation), "\n"), strings.Join(descriptors(), "\n"), stacks.String())
			return
		}
		<-time.After(10 * time.Millisecond) // nothing signals what the system does
	}
}

// descriptors says what this process has open but for the database, whose
// pools of connections have bounds of their own, and uploads, of which a plugin has 64 at
// most, that are forgotten after an hour.
func descriptors() (open []string) {
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		target, _ := os.Readlink(link) // it may be closed already
		if !strings.Contains(target, "harness.db") && !strings.Contains(target, "/files/uploads/") {
			open = append(open, target)
		}
	}
	return open
}
