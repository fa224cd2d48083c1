package hostapi

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a plugin counts in its accounts is an amount of a named account, or nothing is stored.
func TestWhatWasSpentIsAnAmount(t *testing.T) {
	f := newFixture(pluginsdk.CapTurnsDecide)
	for _, request := range []pluginsdk.CountSpentRequest{
		{AtLeast: 1},
		{Account: strings.Repeat("x", 201), AtLeast: 1},
		{Account: "a\x00b", AtLeast: 1},
		{Account: "day", Unit: "euros", AtLeast: 1},
		{Account: "day", AtLeast: -1},
		{Account: "day", AtLeast: math.NaN()},
		{Account: "day", AtLeast: math.Inf(1)},
	} {
		_, err := f.Budgets.CountSpent(t.Context(), &request)
		refused(t, fmt.Sprintf("%+.60v", request), err, pluginsdk.CodeInvalid)
	}
}
