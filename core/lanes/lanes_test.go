package lanes

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// open returns a set that is open, with the step; it is stopped in the end.
func open(t *testing.T, step func(key string, own *int) Next) *Set[string, int] {
	t.Helper()
	s := New(Config[string, int]{Step: step, What: "a step", Log: func(string) *slog.Logger { return slog.New(slog.DiscardHandler) }})
	s.Open()
	t.Cleanup(func() { s.Stop(context.Background(), 0, nil) })
	return s
}

// pass lets time go by in a bubble.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// A message that comes in the very moment in which its lane has found nothing must not
// lie there until a sweep.
func TestAWakeAtTheEndOfAStepIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := 0
		var s *Set[string, int]
		s = open(t, func(key string, _ *int) Next {
			if steps++; steps == 1 {
				s.Wake(key)
			}
			return Idle
		})
		s.Wake("x")
		synctest.Wait()
		if steps != 2 || s.Len() != 0 {
			t.Errorf("%d steps, %d lanes are left", steps, s.Len())
		}
	})
}

// A wake before a step costs no second look when that one finds nothing.
func TestAWakeIsServedByTheStepThatBeginsAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := 0
		s := open(t, func(string, *int) Next {
			if steps++; steps == 1 {
				return After(time.Minute)
			}
			return Idle
		})
		s.Wake("x")
		synctest.Wait()
		s.Wake("x") // cuts the wait short
		synctest.Wait()
		if steps != 2 || s.Len() != 0 {
			t.Errorf("%d steps, %d lanes are left", steps, s.Len())
		}
	})
}

// What waits does so for as long as it said, unless somebody is in a hurry.
func TestALaneWaitsAndRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int32
		s := open(t, func(_ string, own *int) Next {
			if *own++; *own < 3 {
				return After(time.Minute)
			}
			made.Store(int32(*own))
			return Idle
		})
		s.Wake("x")
		pass(59 * time.Second)
		s.Hurry()
		pass(59 * time.Second)
		if !s.Has("x") || made.Load() != 0 {
			t.Error("it did not wait")
		}
		pass(time.Second)
		if s.Has("x") || made.Load() != 3 {
			t.Errorf("it remembered %d steps", made.Load())
		}
		s.Wake("x")
		synctest.Wait()
		if made.Load() != 3 {
			t.Error("a lane remembers what the one before it knew")
		}
	})
}

// A bug in one step must neither end the daemon nor keep a processor busy, and is found
// in the log.
func TestAPanicMakesTheLaneWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var steps atomic.Int32
		told := ""
		s := New(Config[string, int]{
			Step: func(key string, _ *int) Next {
				if steps.Add(1) == 1 {
					panic("a bug")
				}
				return Idle
			},
			What:     "a lane of the test",
			Log:      func(key string) *slog.Logger { return slog.New(slog.NewTextHandler(&log, nil)).With("key", key) },
			Panicked: func(key string, err error) { told = key + ": " + err.Error() },
		})
		s.Open("x")
		pass(FaultPause - 1)
		if steps.Load() != 1 || !strings.Contains(told, "x: a fault of Harness itself: a bug") {
			t.Errorf("%d steps, the room was told %q", steps.Load(), told)
		}
		pass(1)
		if steps.Load() != 2 || s.Len() != 0 {
			t.Errorf("%d steps", steps.Load())
		}
		s.Stop(t.Context(), 0, nil)
		if text := log.String(); !strings.Contains(text, "a lane of the test") || !strings.Contains(text, "key=x") {
			t.Errorf("the log has %s", text)
		}
	})
}

// A goroutine that ends in the middle of a step leaves no lane behind that is asked in
// vain.
func TestALaneWhoseGoroutineEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := 0
		s := open(t, func(string, *int) Next {
			if steps++; steps == 1 {
				runtime.Goexit()
			}
			return Idle
		})
		s.Wake("x")
		synctest.Wait()
		s.Wake("x")
		synctest.Wait()
		if steps != 2 || s.Len() != 0 {
			t.Errorf("%d steps, %d lanes", steps, s.Len())
		}
	})
}

// While nothing may be begun nothing is, and all of it afterwards.
func TestWhatIsWokenWhileNothingMayBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made, mu := map[string]int{}, sync.Mutex{}
		s := New(Config[string, int]{What: "a step", Log: func(string) *slog.Logger { return slog.New(slog.DiscardHandler) }, Step: func(key string, _ *int) Next {
			mu.Lock()
			defer mu.Unlock()
			made[key]++
			return Idle
		}})
		s.Pause() // which is nothing yet
		s.Wake("a")
		if s.Reserve("a", func() bool { return true }) != nil {
			t.Error("a lane was reserved before there may be any")
		}
		synctest.Wait()
		if len(made) != 0 || s.Stage() != Created {
			t.Fatalf("made %v", made)
		}
		s.Open("b")
		synctest.Wait()
		s.Pause()
		s.Wake("a")
		if s.Ready("c") {
			t.Error("a step may begin something in a pause")
		}
		synctest.Wait()
		if len(made) != 2 || made["a"] != 1 || s.Stage() != Paused {
			t.Fatalf("made %v", made)
		}
		s.Open()
		synctest.Wait()
		if made["a"] != 2 || made["c"] != 1 {
			t.Errorf("made %v", made)
		}
		s.Stop(t.Context(), 0, nil)
		s.Open("d")
		s.Wake("d")
		s.Go(func() { made["beside"]++ })
		synctest.Wait()
		if made["d"]+made["beside"] != 0 || s.Ready("d") || s.Stage() != Stopped {
			t.Errorf("after the stop: %v", made)
		}
	})
}

// What was claimed for a lane before it began is worked on, or given back, by a step of
// it: also when the daemon is stopped in between.
func TestAReservedLaneMakesItsFirstStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first int
		s := open(t, func(_ string, own *int) Next {
			first += *own
			return Idle
		})
		lane := s.Reserve("x", func() bool { return true })
		if lane == nil || s.Reserve("x", func() bool { return true }) != nil || s.Reserve("y", func() bool { return false }) != nil {
			t.Fatal("reserved")
		}
		s.Wake("x")
		stopped := make(chan struct{})
		go func() { s.Stop(t.Context(), time.Hour, nil); close(stopped) }()
		synctest.Wait()
		lane.Own = 7
		lane.Begin()
		<-stopped
		if first != 7 || s.Len() != 0 {
			t.Errorf("the first step had %d", first)
		}
	})
}

// A stop waits for what is under way, but not for ever.
func TestAStopLetsStepsGoOnForItsGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("stopping")
		var s *Set[string, int]
		var ended error
		s = open(t, func(string, *int) Next {
			<-s.Work.Done()
			ended = context.Cause(s.Work)
			return Again
		})
		s.Wake("x")
		synctest.Wait()
		began := time.Now()
		s.Stop(t.Context(), 3*time.Second, cause)
		if took := time.Since(began); took != 3*time.Second || !errors.Is(ended, cause) || s.Len() != 0 {
			t.Errorf("it took %s, and the step was ended by %v", took, ended)
		}
	})
}

// A sweep that fails or has a bug is not the last one.
func TestASweepIsMadeAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		sweeps := 0
		s := open(t, func(string, *int) Next { return Idle })
		s.Sweep(Sweep{
			Every: time.Minute, What: "the sweep of the test", Failed: "it cannot be looked; trying again",
			Log: slog.New(slog.NewTextHandler(&log, nil)),
			Do: func() error {
				switch sweeps++; sweeps {
				case 1:
					return errors.New("no answer")
				case 2:
					panic("a bug")
				}
				return nil
			},
		})
		pass(3 * time.Minute)
		if text := log.String(); sweeps != 3 || !strings.Contains(text, `msg="it cannot be looked; trying again" err="no answer"`) || !strings.Contains(text, "the sweep of the test") {
			t.Errorf("%d sweeps; the log has %s", sweeps, text)
		}
	})
}

// A plugin that came back while it was found away is not waited for.
func TestAGateIsNotShutByWhoPassedItBeforeItOpened(t *testing.T) {
	var g Gate[string]
	woken := ""
	wake := func(key string) { woken += key }
	seen, _ := g.Pass("x")
	g.Open(wake)
	if _, open := g.Pass("x"); g.Shut(seen) || !open {
		t.Fatal("it was shut for what held before it opened")
	}
	seen, _ = g.Pass("x")
	if !g.Shut(seen) || g.Shut(seen) {
		t.Fatal("it is shut once")
	}
	if _, open := g.Pass("y"); open || woken != "" {
		t.Errorf("woken: %q", woken)
	}
	g.Open(wake)
	g.Open(wake)
	if _, open := g.Pass("x"); !open || woken != "y" {
		t.Errorf("woken: %q", woken)
	}
}
