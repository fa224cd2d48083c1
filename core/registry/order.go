package registry

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// OrderRequest moves plugins in the order in which their hooks are asked: one to
// directly before or after another, or several among the places that they have.
type OrderRequest struct {
	Name          string // goes
	Before, After string // one of them is given with Name

	Names []string // without Name: get this order; the others stay where they are
}

func (q OrderRequest) named() []string {
	if q.Name == "" {
		return q.Names
	}
	return []string{q.Name, q.Before + q.After}
}

// Order changes the order, and returns all plugins in it.
func (r *Registry) Order(ctx context.Context, who string, request OrderRequest) (order []string, err error) {
	named := request.named()
	err = r.Store.ArrangePlugins(ctx, who, strings.Join(named, " "), func(rows []ledger.Plugin) ([]string, string, error) {
		order = make([]string, len(rows))
		for n, row := range rows {
			order[n] = row.Name
		}
		if err := allThere(order, named); err != nil {
			return nil, "", err
		}
		if request.Name != "" {
			order = moved(order, request)
		} else {
			order = arranged(order, named)
		}
		return order, strings.Join(order, " "), r.mayArrange(order, rows)
	})
	return order, err
}

// FollowOrder waits until the daemon, if one is up, asks in the order that is stored, and
// reports whether it does: not after 30 s. A plugin that does not serve is not waited for.
func (r *Registry) FollowOrder(ctx context.Context) (bool, error) {
	rows, err := r.Store.Plugins(ctx)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if !row.Enabled || row.State != pluginsdk.PluginServing || row.Settled >= row.Generation {
			continue
		}
		if followed, err := r.Follow(ctx, row.Name); err != nil || followed.Standing == Pending {
			return false, err
		}
	}
	return true, nil
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

// moved returns the order with one before or after another.
func moved(order []string, request OrderRequest) []string {
	order = slices.DeleteFunc(slices.Clone(order), func(one string) bool { return one == request.Name })
	place := slices.Index(order, request.Before+request.After)
	if request.After != "" {
		place++
	}
	return slices.Insert(order, place, request.Name)
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
