package lanes

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// Places that come and go at random, with waits that are given up: there are never more
// than there are, nobody is left waiting for what is free, and in the end all are back.
func TestPlacesAreNeitherLostNorDoubled(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := NewPlaces(1 + random.IntN(6))
		if s.all >= 3 {
			s = NewPlaces(s.all, 1, 1, random.IntN(s.all-1))
		}
		classes := len(s.kept)
		type waiter struct {
			of     int
			cancel context.CancelFunc
			got    chan error
		}
		var held []int
		var waiting []waiter
		settle := func() { // those who have got one by now
			s.mu.Lock()
			granted := 0
			for of := range classes {
				granted += s.taken[of]
				if granted > s.all {
					t.Fatalf("seed %d: %d places of %d", seed, granted, s.all)
				}
				if len(s.waiting[of]) > 0 && s.free(of) {
					t.Fatalf("seed %d: class %d waits for a place that is free", seed, of)
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
			switch of := random.IntN(classes); random.IntN(4) {
			case 0, 1:
				ctx, cancel := context.WithCancel(t.Context())
				w := waiter{of, cancel, make(chan error, 1)}
				before := waitingFor(s, of)
				go func() { w.got <- s.Take(ctx, of) }()
				for waitingFor(s, of) == before && !hasGot(s, len(held)) { // it is in the queue, or has one
				}
				waiting = append(waiting, w)
			case 2:
				if len(held) > 0 {
					n := random.IntN(len(held))
					s.Free(held[n])
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
				s.Free(held[0])
				held = held[1:]
			}
			settle()
		}
		if slices.Max(s.taken) != 0 {
			t.Fatalf("seed %d: places are left over: %v", seed, s.taken)
		}
	}
}

func waitingFor(s *Places, of int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting[of])
}

func hasGot(s *Places, held int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for of := range s.taken {
		n += s.taken[of]
	}
	return n > held
}
