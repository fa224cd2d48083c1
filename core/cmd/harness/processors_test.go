package main

import (
	"runtime"
	"testing"
)

func TestTheDaemonLeavesHalfOfTheProcessors(t *testing.T) {
	for processors, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 9: 4} {
		if got := halfOf(processors); got != want {
			t.Errorf("of %d processors it uses %d; want %d", processors, got, want)
		}
	}
	before := runtime.GOMAXPROCS(0)
	t.Setenv("GOMAXPROCS", "7")
	if shareProcessors(); runtime.GOMAXPROCS(0) != before {
		t.Errorf("it uses %d processors, although the environment says how many", runtime.GOMAXPROCS(0))
	}
}
