package pipeline

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func delta(kind pluginsdk.StreamEventType, offset int, text string) pluginsdk.StreamEvent {
	return pluginsdk.StreamEvent{Type: kind, Text: text, Offset: offset}
}

// Who reads along gets every word, in order and at the right place, in few events;
// and nothing is held back for longer than people notice while the agent thinks on.
func TestFragmentsAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []pluginsdk.StreamEvent
		s := &stream{publish: func(e pluginsdk.StreamEvent) { told = append(told, e) }}
		text, thinking := pluginsdk.StreamTextDelta, pluginsdk.StreamThinkingDelta
		expect := func(want ...pluginsdk.StreamEvent) {
			t.Helper()
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			if !slices.EqualFunc(told, want, func(a, b pluginsdk.StreamEvent) bool {
				return a.Type == b.Type && a.Text == b.Text && a.Offset == b.Offset
			}) {
				t.Fatalf("told %v\nwant %v", told, want)
			}
			told = nil
		}
		s.add(delta(thinking, 0, "hm "))
		s.add(delta(thinking, 3, "so"))
		s.add(delta(text, 0, "one "))
		s.add(delta(text, 4, "two "))
		expect(delta(thinking, 0, "hm so"))
		<-time.After(gather)
		expect(delta(text, 0, "one two "))
		s.add(delta(text, 8, "three"))
		s.add(delta(text, 20, "after a gap"))
		expect(delta(text, 8, "three"))
		s.add(delta(pluginsdk.StreamText, 0, "whole"))
		expect(delta(text, 20, "after a gap"), delta(pluginsdk.StreamText, 0, "whole"))
		s.add(delta(text, 31, strings.Repeat("x", maxGathered)))
		expect(delta(text, 31, strings.Repeat("x", maxGathered)))
		s.add(delta(text, 31+maxGathered, "last"))
		s.end()
		expect(delta(text, 31+maxGathered, "last"))
		<-time.After(2 * gather)
		expect()
	})
}
