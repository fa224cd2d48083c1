package search_test

import (
	"testing"

	"github.com/seed-706843ae/harness/core/search"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// An operator is told that the index does not follow any more, before searches miss what
// was said.
func TestFiguresOfTheIndex(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		room := search.New(search.Config{}, s)
		lag := func() float64 {
			t.Helper()
			figures := must[[]pluginsdk.Figure](t)(room.Figures(t.Context()))
			if len(figures) != 1 || figures[0].Name != "harness_search_index_lag_messages" {
				t.Fatalf("%+v", figures)
			}
			return figures[0].Samples[0].Value
		}
		if behind := lag(); behind != 0 {
			t.Errorf("nothing was said, and %v are missing", behind)
		}
		thread := newThread(t, s, "one")
		say(t, s, thread, "one", "two", "three")
		if behind := lag(); behind != 3 {
			t.Errorf("%v of 3 are missing", behind)
		}
		if err := room.Finish(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if behind := lag(); behind != 0 {
			t.Errorf("all is indexed, and %v are missing", behind)
		}
	})
}
