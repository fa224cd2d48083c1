package guard

import (
	"testing"
	"time"
)

// What fails for long is tried rarely, and what fails together is not tried together.
func TestBackoff(t *testing.T) {
	b := Backoff{Base: time.Second, Max: 10 * time.Second}
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 1000: 10 * time.Second} {
		if got := b.After(failures); got != want {
			t.Errorf("after %d failures %s, want %s", failures, got, want)
		}
	}
	b.Jitter = 0.25
	waits := make(map[time.Duration]bool)
	for range 100 {
		wait := b.After(1000)
		if waits[wait] = true; wait < 7500*time.Millisecond || wait > 12500*time.Millisecond {
			t.Errorf("%s is not a quarter around %s", wait, b.Max)
		}
	}
	if len(waits) < 50 {
		t.Errorf("a hundred waits are of %d lengths", len(waits))
	}
}
