package daemon_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A stop gives running turns their grace; hurried, it interrupts them, and the
// next start answers them. What comes during the stop is refused.
func TestHurriedStopInterruptsAndTheNextStartResumes(t *testing.T) {
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t))
		in.config.DrainGrace = time.Hour
		in.demo(endlessTurn)
		ctx, stop := context.WithCancel(context.Background())
		hurry, rush := context.WithCancel(context.Background())
		defer rush()
		d, err := daemon.New(ctx, in.config)
		if err != nil {
			t.Fatal(err)
		}
		ready, ended := make(chan struct{}), make(chan error, 1)
		go func() { ended <- d.Run(ctx, hurry, func() { close(ready) }) }()
		<-ready
		watch := in.watch()
		thread := in.thread("a thread")
		running := in.chat(thread, "endless")
		watch.atWork(running.RunID)

		stop()
		in.until("the daemon is stopping", func() bool { return strings.Contains(in.log.String(), "msg=stopping") })
		in.until("messages are refused", func() bool {
			var problem struct{ Detail string }
			in.call("POST", "/api/chat", map[string]string{"threadId": thread, "content": "late"}, &problem)
			return strings.Contains(problem.Detail, "harness is stopping")
		})
		select {
		case err := <-ended:
			t.Fatalf("the running turn was given no grace: %v", err)
		default:
		}
		rush()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		in.config.DrainGrace = time.Second
		in.demo(`[{"match":"endless","text":"at last"}]`)
		in.start()
		in.until("the run is answered", func() bool { return in.run(running.RunID).State == pluginsdk.RunSucceeded })
		if got := in.replyTo(thread, running.RunID); !strings.Contains(got, "at last") {
			t.Errorf("reply %q", got)
		}
		for _, row := range in.messages(thread) {
			if row.Content == "late" && row.Role == pluginsdk.RoleUser {
				run := in.run(row.RunID) // accepted in the instant before intake stopped
				if run.ID == "" {
					t.Error("a message without a run")
				}
			}
		}
	})
}
