package inbox

import "testing"

// What is kept for a class can be had by nobody else, whoever is first.
func TestPlacesOfAClassAreKeptForIt(t *testing.T) {
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
			s, n := newPlaces(row.all), 0
			for s.TryTake(int(of)) {
				n++
			}
			if n != row.most[of] {
				t.Errorf("of %d, class %d has %d, want %d", row.all, of, n, row.most[of])
			}
			for other := range classes {
				if row.all >= 3 && other != of && !s.TryTake(int(other)) {
					t.Errorf("of %d, class %d has left nothing to class %d", row.all, of, other)
				}
			}
		}
	}
}
