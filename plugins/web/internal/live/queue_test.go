package live

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func lifecycle(seq uint64) frame {
	return frame{position: pluginsdk.Position{Boot: "b", Seq: seq}, text: []byte("12345678")}
}

func delta(seq uint64) frame {
	f := lifecycle(seq)
	f.delta = true
	return f
}

// seqs empties the queue.
func seqs(q *queue) (found []uint64) {
	for f, ok := q.pop(); ok; f, ok = q.pop() {
		found = append(found, f.position.Seq)
	}
	return found
}

func expect(t *testing.T, got []uint64, want ...uint64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %v; want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v; want %v", got, want)
		}
	}
}

func TestFullQueueLosesDeltasFirst(t *testing.T) {
	q := newQueue(4, 1<<20)
	for _, f := range []frame{lifecycle(1), delta(2), delta(3), lifecycle(4)} {
		if !q.push(f) {
			t.Fatalf("%d is refused", f.position.Seq)
		}
	}
	if !q.push(delta(5)) {
		t.Fatal("a delta ends the client")
	}
	if !q.push(lifecycle(6)) || !q.push(lifecycle(7)) {
		t.Fatal("there are deltas to lose, and the client is ended")
	}
	if q.push(lifecycle(8)) {
		t.Fatal("a lifecycle event is lost in silence")
	}
	expect(t, seqs(q), 1, 4, 6, 7)
}

func TestQueueIsBoundedInBytes(t *testing.T) {
	q := newQueue(100, 20)
	if !q.push(lifecycle(1)) || !q.push(delta(2)) {
		t.Fatal("16 of 20 bytes are refused")
	}
	if !q.push(lifecycle(3)) {
		t.Fatal("the delta's place is not given to a lifecycle event")
	}
	if q.push(lifecycle(4)) {
		t.Fatal("24 of 20 bytes are taken")
	}
	expect(t, seqs(q), 1, 3)
	if !q.push(lifecycle(5)) {
		t.Fatal("what was taken out still counts")
	}
}

// One event larger than the whole bound must still reach a client that keeps up.
func TestEmptyQueueTakesAnyFrame(t *testing.T) {
	q := newQueue(100, 20)
	big := lifecycle(1)
	big.text = []byte(strings.Repeat("x", 100))
	if !q.push(big) {
		t.Fatal("refused")
	}
	expect(t, seqs(q), 1)
}

func TestIsDelta(t *testing.T) {
	for data, want := range map[string]bool{
		`{"event":{"type":"text_delta"}}`:     true,
		`{"event":{"type":"thinking_delta"}}`: true,
		`{"event":{"type":"text"}}`:           false,
		`{"event":{"type":"tool_call"}}`:      false,
		`{}`:                                  false,
		``:                                    false,
		`"text_delta"`:                        false,
	} {
		if got := pluginsdk.Event.Delta(pluginsdk.Event{Type: pluginsdk.EventPipelineStream, Data: []byte(data)}); got != want {
			t.Errorf("%s: %v", data, got)
		}
	}
	if pluginsdk.Event.Delta(pluginsdk.Event{Type: "discord:x", Data: []byte(`{"event":{"type":"text_delta"}}`)}) {
		t.Error("another event's payload is taken for a stream's")
	}
}
