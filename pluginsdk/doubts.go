package pluginsdk

import (
	"fmt"
	"strings"
)

// doubtfulModels is how many models WhyUnsure names.
const doubtfulModels = 5

// WhyUnsure says of how many turns the cost may be wrong, and why, in a sentence for people; empty:
// of none. It has names of models, which others have chosen.
func (u UsageResponse) WhyUnsure() string {
	all := u.Total.Unsure
	if all == 0 {
		return ""
	}
	unpriced, models := int64(0), make([]string, 0, doubtfulModels)
	for n, sum := range u.Unpriced {
		unpriced += sum.Unsure
		if n < doubtfulModels {
			models = append(models, sum.Of)
		}
	}
	if more := len(u.Unpriced) - doubtfulModels; more > 0 {
		models = append(models, fmt.Sprintf("%d more", more))
	}
	unpriced = min(unpriced, all) // a turn can have several such models
	const unknown, cut = "of models whose price is not known", "cut off before their end, or recorded by an earlier version of Harness"
	const one = "cut off before its end, or recorded by an earlier version of Harness"
	others := "; the others were " + cut + "."
	if all-unpriced == 1 {
		others = "; the other was " + one + "."
	}
	words := fmt.Sprintf("The cost of %d turns may be wrong: ", all)
	if all == 1 {
		words = "The cost of 1 turn may be wrong: "
	}
	switch names := " (" + strings.Join(models, ", ") + ")"; {
	case unpriced == 0 && all == 1:
		return words + "it was " + one + "."
	case unpriced == 0:
		return words + "they were " + cut + "."
	case all == 1:
		return words + "it is of a model whose price is not known" + names + "."
	case unpriced == all:
		return words + "they are " + unknown + names + "."
	case unpriced == 1:
		return words + "1 is of a model whose price is not known" + names + others
	default:
		return words + fmt.Sprintf("%d are ", unpriced) + unknown + names + others
	}
}
