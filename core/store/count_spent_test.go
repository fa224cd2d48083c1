package store_test

import (
	"context"
	"testing"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func countSpent(s *store.Store, account string, unit pluginsdk.Unit, atLeast float64) error {
	_, err := s.CountSpent(context.Background(), "purser", pluginsdk.CountSpentRequest{Account: account, Unit: unit, AtLeast: atLeast})
	return err
}

// What was spent before a budget was made counts in it: once, and not beside what runs have spent that are in it already.
func TestWhatWasSpentBeforeIsCountedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		check(t, countSpent(s, "day", pluginsdk.UnitUSD, 0.5))
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{SpentUSD: 0.5})
		c, day := claimed(t, s, "first"), atRest("day", 1, 0.3)
		check(t, intent(s, c, day))
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{SpentUSD: 0.5, SetAsideUSD: 0.3, LimitUSD: 1})
		costsAll(t, s, c, 0.2, day)
		for _, atLeast := range []float64{0.7, 0.7, 0.1, 0} { // the run's 0.20 are among the 0.70
			check(t, countSpent(s, "day", pluginsdk.UnitUSD, atLeast))
			wantAccount(t, s, "day", pluginsdk.BudgetAccount{SpentUSD: 0.7, LimitUSD: 1})
		}
		check(t, countSpent(s, "day", pluginsdk.UnitUSD, 0.9))
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{SpentUSD: 0.9, LimitUSD: 1})
		wantOver(t, intent(s, claimed(t, s, "next"), atRest("day", 1, 0.3)), 0.7, 0.2)
	})
}

func TestWhatWasSpentIsCountedInTheAccountsUnit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		check(t, countSpent(s, "words", pluginsdk.UnitTokens, 1000))
		if err := countSpent(s, "words", pluginsdk.UnitUSD, 1); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
			t.Errorf("dollars in an account of tokens: %v", err)
		}
		wantAccount(t, s, "words", pluginsdk.BudgetAccount{SpentUSD: 1000})
	})
}
