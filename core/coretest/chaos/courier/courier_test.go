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
		if err := record(dir, logFile, call); err != nil {
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

// A plugin that comes back from its death must see to what it had begun, and to nothing
// that is over: the checker would call it lost, or asked again.
func TestJobsAreSeenToUntilTheyAreOver(t *testing.T) {
	dead := Plugin{settings: Settings{Dir: t.TempDir()}}
	for _, event := range []Event{
		{Key: "begun", What: Promised}, {Key: "begun", What: Asked, Hook: "OnTaskComplete"},
		{Key: "over", What: Promised}, {Key: "over", What: Ended}, {Key: "refused", What: Refused},
	} {
		if err := dead.note(event); err != nil {
			t.Fatal(err)
		}
	}
	heir := Plugin{settings: dead.settings}
	if err := heir.remember(); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"begun": true, "new": true, "over": false, "refused": false} {
		if got := heir.begin(key); got != want {
			t.Errorf("%s: taken on: %t", key, got)
		}
		if heir.begin(key) {
			t.Errorf("%s: taken on twice", key)
		}
	}
	if n := heir.tries[Event{Key: "begun", Hook: "OnTaskComplete"}.about()]; n != 1 {
		t.Errorf("%d tries are remembered", n)
	}
}

// A plugin that dies too often under one daemon is not started any more, and the
// campaign would wait for it until its end.
func TestTheCourierDiesSeldomUnderOneDaemon(t *testing.T) {
	p := Plugin{settings: Settings{Dir: t.TempDir()}}
	for _, daemon := range []int{os.Getppid(), -1, -1, -1} {
		if err := record(p.settings.Dir, dieFile, death{Daemon: daemon}); err != nil {
			t.Fatal(err)
		}
	}
	if !p.mayDie() {
		t.Error("it may not die a second time")
	}
	if p.mayDie() {
		t.Error("it may die a third time")
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
