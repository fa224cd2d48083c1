package invoker

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestTheWatchdogOnSilenceIsNotTheOneOnTotalTime(t *testing.T) {
	t.Run("a silent turn", func(t *testing.T) {
		a := startAgent(t, "plain", func(c *Config) { c.SilenceTimeout, c.TurnTimeout = 50*time.Millisecond, time.Hour })
		failure := wantFailure(t, a.ask("thread", "", "silent"), pluginsdk.FailureSilent, true)
		if !strings.Contains(failure.Message, "sign of life") {
			t.Errorf("message %q", failure.Message)
		}
	})
	t.Run("a turn that never ends", func(t *testing.T) {
		a := startAgent(t, "plain", func(c *Config) { c.SilenceTimeout, c.TurnTimeout = time.Hour, 50*time.Millisecond })
		failure := wantFailure(t, a.ask("thread", "", "chatter"), pluginsdk.FailureTimeout, false)
		if !strings.Contains(failure.Message, "took longer") {
			t.Errorf("message %q", failure.Message)
		}
	})
}

func TestTheLastWordsOfAnEndedProcessAreInItsFailure(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Config)
		kind   pluginsdk.FailureKind
	}{
		"silence":    {func(c *Config) { c.SilenceTimeout = 500 * time.Millisecond }, pluginsdk.FailureSilent},
		"total time": {func(c *Config) { c.TurnTimeout = 500 * time.Millisecond }, pluginsdk.FailureTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			a := startAgent(t, "plain", test.change)
			words := strings.Repeat("x", 3*tailSize) + " the disk is on fire"
			failure := wantFailure(t, a.ask("thread", "", "mumble "+words), test.kind, test.kind == pluginsdk.FailureSilent)
			if !strings.Contains(failure.Message, "the disk is on fire") {
				t.Errorf("message %q", failure.Message)
			}
			if len(failure.Message) > 2*tailSize {
				t.Errorf("the message has %d bytes", len(failure.Message))
			}
		})
	}
}

func TestAFailedTurnKeepsWhatItCost(t *testing.T) {
	a := startAgent(t, "plain", nil)
	failed := a.ask("thread", "", "fail 529")
	_ = wantFailure(t, failed, pluginsdk.FailureAPI, true)
	if want := (pluginsdk.Usage{InputTokens: 10, OutputTokens: 2}); failed.Usage != want || !near(failed.CostUSD, 0.01) {
		t.Errorf("result %+v", failed)
	}
	crashed := a.ask("thread", failed.SessionID, "spend")
	_ = wantFailure(t, crashed, pluginsdk.FailureCrashed, true)
	want := pluginsdk.Usage{InputTokens: 700, OutputTokens: 30, CacheReadTokens: 50, CacheWriteTokens: 5}
	if crashed.Usage != want || crashed.CostUSD == 0 {
		t.Errorf("usage %+v for %f, want what the stream said: %+v", crashed.Usage, crashed.CostUSD, want)
	}
}
