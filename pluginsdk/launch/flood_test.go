package launch

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestABucketLeaks(t *testing.T) {
	start := time.Now()
	b := bucket{rate: 10, burst: 3}
	for n := range 3 {
		if !b.allow(start) {
			t.Errorf("number %d does not fit", n)
		}
	}
	if b.allow(start) {
		t.Error("a fourth fits")
	}
	if later := start.Add(100 * time.Millisecond); !b.allow(later) || b.allow(later) {
		t.Error("after a tenth of a second just one fits")
	}
	if wait := b.owe(20, start.Add(time.Hour)); wait != 1700*time.Millisecond {
		t.Errorf("17 too many are waited for %s", wait)
	}
}

// A log that one plugin fills is of no use for the others.
func TestLinesOfAFloodAreCountedAndReported(t *testing.T) {
	var text strings.Builder
	f := newFlood(slog.New(slog.NewTextHandler(&text, nil)))
	f.logged.rate = 0 // no time passes
	admitted := 0
	for range 5 * loggedBurst {
		if f.admit() {
			admitted++
		}
	}
	f.tell()
	f.tell()
	if admitted != loggedBurst || strings.Count(text.String(), "4000 lines of output were dropped") != 1 {
		t.Errorf("%d admitted; logged\n%s", admitted, text.String())
	}
}

// What a plugin said last is why it ended.
func TestTheLastLinesOfAFloodAreKept(t *testing.T) {
	out := newOutput(slog.New(slog.DiscardHandler), nil)
	for range 2 * loggedBurst {
		out.stderrLine("noise")
	}
	out.stderrLine(`{"@level":"error","@message":"no token","code":3}`)
	if lines := out.lastLines(); lines[len(lines)-1] != "ERROR no token code=3" {
		t.Errorf("kept %q", lines)
	}
	out.flood.tell()
}

// The end of a process that floods must not wait for all that a descendant
// still writes.
func TestAFloodEndsSoonAfterItsProcess(t *testing.T) {
	f := newFlood(slog.New(slog.DiscardHandler))
	close(f.ended)
	n, err := io.Copy(io.Discard, f.reader(strings.NewReader(strings.Repeat("x", 8*leftover))))
	if err != nil || n < leftover || n > 2*leftover {
		t.Errorf("read %d bytes, %v", n, err)
	}
}
