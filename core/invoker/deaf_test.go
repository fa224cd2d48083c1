package invoker

import (
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// closingTools end the process's input when a turn begins that is told to: a
// process that dies just then reads no prompt any more.
type closingTools struct {
	fakeTools
	begin func()
}

func (c *closingTools) Open() ToolSession { return c }

func (c *closingTools) Begin(string) ([]string, bool) {
	if c.begin != nil {
		c.begin()
	}
	return nil, false
}

// A process that dies as its next turn begins is told as what it is, whatever it
// says with its last breath and leaves running: a person who reads of silence
// looks for the wrong fault.
func TestAProcessThatDiesBeforeItsPromptHasCrashed(t *testing.T) {
	for name, row := range map[string]struct {
		mode  string
		grace time.Duration
	}{
		"with words that nobody waits for":   {"babbling", 5 * time.Second},
		"with something that is hard to end": {"leaving", leftoverGrace / 2},
	} {
		t.Run(name, func(t *testing.T) {
			tools := &closingTools{}
			a := startAgent(t, row.mode, func(c *Config) {
				c.Tools, c.Private, c.CloseGrace = tools, t.TempDir(), row.grace
			})
			first := a.ask("thread", "", "say x")
			wantText(t, first, "x")
			dying := a.pool.sessions()[0].process
			tools.begin = func() {
				dying.closeInput()
				if row.mode == "leaving" {
					eventually(t, "the process to end", func() bool { return syscall.Kill(dying.cmd.Process.Pid, 0) != nil })
				}
			}
			_ = wantFailure(t, a.ask("thread", first.SessionID, "say y"), pluginsdk.FailureCrashed, true)
			tools.begin = nil
			wantText(t, a.ask("thread", first.SessionID, "say z"), "z")
		})
	}
}
