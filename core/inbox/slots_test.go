package inbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
)

// What is kept for a class can be had by nobody else, whoever is first.
func TestSlotsOfAClassAreKeptForIt(t *testing.T) {
	for _, row := range []struct {
		all  int
		most [classes]int // that a class can have when it is alone
	}{
		{1, [classes]int{1, 1, 1}},
		{2, [classes]int{2, 2, 2}},
		{3, [classes]int{1, 1, 1}},
		{4, [classes]int{2, 2, 2}},
		{5, [classes]int{3, 2, 2}},
		{10, [classes]int{6, 4, 4}},
	} {
		for of := range classes {
			s, n := newSlots(row.all), 0
			for s.tryAcquire(of) {
				n++
			}
			if n != row.most[of] {
				t.Errorf("of %d, class %d has %d, want %d", row.all, of, n, row.most[of])
			}
			for other := range classes {
				if row.all >= 3 && other != of && !s.tryAcquire(other) {
					t.Errorf("of %d, class %d has left nothing to class %d", row.all, of, other)
				}
			}
		}
	}
}

// Slots that come and go at random, with waits that are given up: there are never more
// than there are, nobody is left waiting for what is free, and in the end all are back.
func TestSlotsAreNeitherLostNorDoubled(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := newSlots(1 + random.IntN(6))
		type waiter struct {
			of     class
			cancel context.CancelFunc
			got    chan error
		}
		var held []class
		var waiting []waiter
		settle := func() { // those who have got one by now
			s.mu.Lock()
			granted := 0
			for of := range classes {
				granted += s.taken[of]
				if granted > s.all {
					t.Fatalf("seed %d: %d slots of %d", seed, granted, s.all)
				}
				if len(s.waiting[of]) > 0 && s.free(of) {
					t.Fatalf("seed %d: class %d waits for a slot that is free", seed, of)
				}
			}
			s.mu.Unlock()
			for granted > len(held) {
				for n, w := range waiting {
					select {
					case err := <-w.got:
						waiting = append(waiting[:n], waiting[n+1:]...)
						if err == nil {
							held = append(held, w.of)
						}
					default:
						continue
					}
					break
				}
			}
		}
		for range 60 {
			switch of := class(random.IntN(int(classes))); random.IntN(4) {
			case 0, 1:
				ctx, cancel := context.WithCancel(t.Context())
				w := waiter{of, cancel, make(chan error, 1)}
				before := waitingFor(s, of)
				go func() { w.got <- s.acquire(ctx, of) }()
				for waitingFor(s, of) == before && !hasGot(s, len(held)) { // it is in the queue, or has one
				}
				waiting = append(waiting, w)
			case 2:
				if len(held) > 0 {
					n := random.IntN(len(held))
					s.release(held[n])
					held = append(held[:n], held[n+1:]...)
				}
			case 3:
				if len(waiting) > 0 {
					w := waiting[random.IntN(len(waiting))]
					w.cancel()
					if err := <-w.got; err == nil {
						w.got <- nil
					} else if !errors.Is(err, context.Canceled) {
						t.Fatal(err)
					} else {
						for n := range waiting {
							if waiting[n].got == w.got {
								waiting = append(waiting[:n], waiting[n+1:]...)
								break
							}
						}
					}
				}
			}
			settle()
		}
		for len(held) > 0 || len(waiting) > 0 {
			if len(held) > 0 {
				s.release(held[0])
				held = held[1:]
			}
			settle()
		}
		if s.taken != [classes]int{} {
			t.Fatalf("seed %d: slots are left over: %v", seed, s.taken)
		}
	}
}

func waitingFor(s *slots, of class) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting[of])
}

func hasGot(s *slots, held int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for of := range classes {
		n += s.taken[of]
	}
	return n > held
}
