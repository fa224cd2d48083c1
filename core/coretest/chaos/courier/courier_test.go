package courier

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The schedule must bring every misconduct, the same for the same seed, and an
// end to it, or nothing would ever be delivered.
func TestConductIsTheSeedsAndEnds(t *testing.T) {
	seen := map[Conduct]int{}
	for n := range 1000 {
		about := fmt.Sprintf("T01\x00message %d", n)
		first := Settings{Seed: 1}.conduct(about, 0)
		if again := (Settings{Seed: 1}).conduct(about, 0); again != first {
			t.Fatalf("%s, then %s", first, again)
		}
		seen[first]++
		if late := (Settings{Seed: 1}).conduct(about, 3); late != Acknowledge {
			t.Errorf("the fourth try of %q: %s", about, late)
		}
	}
	for _, conduct := range []Conduct{Acknowledge, Refuse, Hang, Exit} {
		if seen[conduct] == 0 {
			t.Errorf("never: %s", conduct)
		}
	}
}

// What was written down counts as carried, and what the plugin died over in
// the middle of writing does not.
func TestTheLogIsWhatWasWrittenWhole(t *testing.T) {
	dir := t.TempDir()
	for _, call := range []Call{{DeliveryID: "a", Conduct: Acknowledge}, {DeliveryID: "b", Conduct: Refuse}} {
		if err := record(dir, call); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.OpenFile(filepath.Join(dir, logFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString(`{"deliveryId":"c","con`)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	calls, err := Log(dir)
	if err != nil || len(calls) != 2 || !calls[0].Carried() || calls[1].Carried() {
		t.Errorf("%+v, %v", calls, err)
	}
}

// An ack is taken once, and its key can be used again: a client that repeats
// itself must get an answer of its own.
func TestAnAckIsTakenOnce(t *testing.T) {
	dir := t.TempDir()
	if err := Prepare(dir); err != nil {
		t.Fatal(err)
	}
	if err := Put(dir, Ask{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	if _, found, err := Take(dir, "k"); found || err != nil {
		t.Fatalf("before there is one: %t, %v", found, err)
	}
	want := Ack{Refused: "no"}
	if err := write(filepath.Join(acks(dir), "k"), want); err != nil {
		t.Fatal(err)
	}
	if got, found, err := Take(dir, "k"); !found || err != nil || got != want {
		t.Fatalf("%+v, %t, %v", got, found, err)
	}
	if _, found, err := Take(dir, "k"); found || err != nil {
		t.Fatalf("a second time: %t, %v", found, err)
	}
}
