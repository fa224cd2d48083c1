package check

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// ordered walks a map by its keys, so that reports repeat.
func ordered[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

func unique(values []string) []string {
	slices.Sort(values)
	return slices.Compact(values)
}
