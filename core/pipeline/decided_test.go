package pipeline

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// decides is a bench whose plugin a says of its command deploy what it has decided.
func decides(audit ...string) *bench {
	b := newBench("a")
	b.plugins[0].info.Manifest.Commands = []pluginsdk.CommandSpec{{Name: "deploy"}}
	b.plugins[0].cmd = func(*pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
		return &pluginsdk.OnCommandResponse{Handled: true, Audit: audit}, nil
	}
	b.claim.Run.Kind = pluginsdk.RunCommand
	b.claim.Message.Content, b.claim.Message.Author, b.claim.Message.Plugin = "/deploy now", "Ann", "web"
	b.claim.Message.Origin.Token = "T1"
	return b
}

// What a person has decided by a plugin's command goes with the command's outcome, under their name.
func TestWhatACommandHasDecidedGoesWithItsOutcome(t *testing.T) {
	b := decides("moved daily from $25 to $40", "", "removed\n  weekly\x1b[2J")
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	commit := b.store.commits[0]
	if want := []string{"moved daily from $25 to $40", "removed weekly [2J"}; !slices.Equal(commit.Decided, want) || commit.Who != "plugin:web (Ann, token T1)" || commit.Outcome.Plugin != "a" {
		t.Errorf("%+v", commit)
	}
}

// A plugin fills the audit log with no more than a few short lines of a command.
func TestWhatACommandHasDecidedIsBounded(t *testing.T) {
	b := decides(slices.Repeat([]string{strings.Repeat("é", 5000)}, 100)...)
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	decided := b.store.commits[0].Decided
	if len(decided) != maxDecisions || len(decided[0]) > maxDecision || !utf8.ValidString(decided[0]) || !strings.HasSuffix(decided[0], "é…") {
		t.Errorf("%d lines, the first of %d bytes", len(decided), len(decided[0]))
	}
}

// Only a person decides: what a plugin says of an agent's command, of a command that an agent has caused, and of one that it
// hands on is not in the audit log.
func TestOnlyAPersonsCommandDecides(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"a block of the agent": func(b *bench) {
			b.claim.Run.Kind, b.claim.Message.Content = pluginsdk.RunMessage, "Please deploy."
			b.agent.answer = says("Well.\n/deploy now\n")
		},
		"repeated by a retry": func(b *bench) { b.claim.Message.Metadata = []byte(`{"retryOf":"FIRST"}`) },
		"of no author":        func(b *bench) { b.claim.Message.Author = "" },
		"caused by a run":     func(b *bench) { b.claim.Run.CauseRunID = "OTHER" },
		"said by an agent":    func(b *bench) { b.claim.Message.Origin.ThreadID = "OTHER" },
		"handed on": func(b *bench) {
			b.plugins[0].cmd = func(*pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
				return &pluginsdk.OnCommandResponse{Audit: []string{"moved daily"}}, nil
			}
		},
	} {
		b := decides("moved daily")
		change(b)
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		if commit := b.store.commits[0]; commit.Decided != nil || commit.Who != "" {
			t.Errorf("%s: %+v", name, commit)
		}
	}
}
