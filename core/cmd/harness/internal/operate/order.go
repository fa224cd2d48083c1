package operate

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Order moves plugins in the order in which their hooks are asked. The words are
// NAME before|after OTHER, or names, which are put into that order in the places
// that they have; the others stay where they are.
func (o *Operator) Order(ctx context.Context, words []string) error {
	named := words
	move := len(words) == 3 && (words[1] == "before" || words[1] == "after")
	if move {
		named = []string{words[0], words[2]}
	}
	var order []string
	err := o.Store.ArrangePlugins(ctx, operator, strings.Join(named, " "), func(rows []ledger.Plugin) ([]string, string, error) {
		order = make([]string, len(rows))
		for n, row := range rows {
			order[n] = row.Name
		}
		if err := allThere(order, named); err != nil {
			return nil, "", err
		}
		if move {
			order = moved(order, words[0], words[2], words[1] == "after")
		} else {
			order = arranged(order, words)
		}
		return order, strings.Join(order, " "), nil
	})
	if err != nil {
		return err
	}
	o.say("The order is: %s; %s.", strings.Join(order, ", "), o.when())
	return nil
}

// allThere refuses names that there are not, and those given twice.
func allThere(order, named []string) error {
	for n, name := range named {
		if !slices.Contains(order, name) {
			return unknownAmong(order, name)
		}
		if slices.Contains(named[:n], name) {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s is named twice", name)
		}
	}
	return nil
}

// moved returns the order with name before or after another.
func moved(order []string, name, other string, after bool) []string {
	order = slices.DeleteFunc(slices.Clone(order), func(one string) bool { return one == name })
	place := slices.Index(order, other)
	if after {
		place++
	}
	return slices.Insert(order, place, name)
}

// arranged returns the order with the named ones exchanged among their places.
func arranged(order, named []string) []string {
	order = slices.Clone(order)
	next := 0
	for n, name := range order {
		if slices.Contains(named, name) {
			order[n] = named[next]
			next++
		}
	}
	return order
}
