package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// One plugin that keeps everything must not fill everybody's disk.
func TestStateHasAQuota(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		big := make([]byte, 16<<20)
		for n := range 3 {
			check(t, s.PutState(ctx, "hoarder", fmt.Sprint(n), big))
		}
		if err := s.PutState(ctx, "hoarder", "3", big); pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted {
			t.Errorf("over its quota: %v", err)
		}
		check(t, s.PutState(ctx, "hoarder", "2", big)) // in the place of itself
		check(t, s.PutState(ctx, "other", "0", big))
		check(t, s.DeleteState(ctx, "hoarder", "0"))
		check(t, s.PutState(ctx, "hoarder", "3", big))
	})
}
