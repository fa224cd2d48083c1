package conform

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// farewell is what was seen of the end of one process that had done work.
type farewell struct {
	fault    string   // why it did not end as it should
	children string   // of it that were still there
	sockets  []string // of it that were still there
}

// ended is launch.Config.Ended: it sees what is left a moment after the process
// itself, before package launch cleans up. Children that are ending get that
// moment.
func (s *session) ended(group int) {
	if !s.watched.Load() {
		return
	}
	var left []child
	until(context.Background(), settle, func() bool {
		left = leftOf(group, s.mark)
		return len(left) == 0
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = names(left)
}

// checkShutdown lets a process work, then ends it politely.
func (x *exam) checkShutdown(ctx context.Context) error {
	x.giveBack()
	x.tidy()
	s, err := x.serve(ctx)
	if err != nil {
		return err
	}
	defer s.discard()
	for _, hook := range x.askable() {
		x.try(ctx, s, hook, "hello")
	}
	if err := x.step(ctx, s.Deactivate); err != nil {
		return faultf("make Deactivate take back what Activate did", "Deactivate: %v", err)
	}
	x.farewell = x.part(ctx, s)
	if x.farewell.fault != "" {
		return faultf("end when plugin.GRPCController/Shutdown is called: answer, stop the server, exit; nothing may wait for ever on the way out",
			"%s", x.farewell.fault)
	}
	return nil
}

// part stops a process and looks at what it leaves.
func (x *exam) part(ctx context.Context, s *session) *farewell {
	// Stop sends SIGTERM at half of the time, so this is patience for each.
	stopCtx, cancel := context.WithTimeout(ctx, 2*x.cfg.Patience)
	defer cancel()
	s.watched.Store(true)
	began := time.Now()
	err := s.Stop(stopCtx)
	f := &farewell{}
	switch {
	case err != nil:
		f.fault = "asked to end, and then sent SIGTERM, it was still there after " + (2 * x.cfg.Patience).String() + ": it had to be killed"
	case time.Since(began) >= x.cfg.Patience:
		f.fault = "asked to end, it was still there after " + x.cfg.Patience.String() + ", and ended only at SIGTERM"
	}
	s.mu.Lock()
	f.children = s.left
	s.mu.Unlock()
	f.sockets = x.socketsLeft()
	return f
}

// socketsLeft are the sockets in the directories that the plugin was given.
func (x *exam) socketsLeft() (paths []string) {
	_ = filepath.WalkDir(x.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type()&os.ModeSocket != 0 {
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

// tidy empties the plugin's directories, and ends what is left of processes
// that were killed: they could not.
func (x *exam) tidy() {
	killMarked(x.mark)
	for _, dir := range []string{x.sockets(), x.temp()} {
		entries, _ := os.ReadDir(dir) // unreadable is as good as empty
		for _, entry := range entries {
			_ = os.RemoveAll(filepath.Join(dir, entry.Name()))
		}
	}
}

// checkDrain ends a process while its hooks are under way.
func (x *exam) checkDrain(ctx context.Context) error {
	switch {
	case x.farewell == nil || x.farewell.fault != "":
		return skipped("it does not end by itself even when nothing is under way (see the check shutdown)")
	case len(x.askable()) == 0:
		return skipped("the manifest declares no hooks")
	}
	s, err := x.serve(ctx)
	if err != nil {
		return err
	}
	defer s.discard()
	letGo := s.gate.hold()
	defer letGo()
	calls := 4 * len(x.askable())
	returned := make(chan struct{}, calls)
	for _, hook := range x.askable() {
		for range 4 {
			go func() {
				_, _ = ask(ctx, s, hook, x.sample("hello"), x.cfg.Settings) // that it returns is all
				returned <- struct{}{}
			}()
		}
	}
	done := underway(s, calls, returned)
	stopCtx, cancel := context.WithTimeout(ctx, 2*x.cfg.Patience)
	defer cancel()
	if err := s.Stop(stopCtx); err != nil {
		return faultf("a hook that does not return must not keep the process from ending: end the server, then exit",
			"with calls under way it did not end within %s and was killed", 2*x.cfg.Patience)
	}
	for range calls - done {
		select {
		case <-returned:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (x *exam) checkChildren(context.Context) error {
	switch {
	case x.farewell == nil:
		return skipped("its end was not seen (see the check shutdown)")
	case !seesProcesses():
		return skipped("this system does not show processes in /proc")
	case x.farewell.children != "":
		return faultf("end every process that the plugin starts before it ends itself, in Deactivate at the latest", "it left behind: %s", x.farewell.children)
	}
	return nil
}

func (x *exam) checkSockets(context.Context) error {
	switch {
	case x.farewell == nil || x.farewell.fault != "":
		return skipped("it does not end by itself (see the check shutdown)")
	case len(x.farewell.sockets) > 0:
		return faultf("close listeners before the end, and remove their files", "it left behind: %s", strings.Join(x.farewell.sockets, ", "))
	}
	return nil
}
