package daemon

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Usage sums up what turns have used, with the names of the threads and tasks that are shown, and
// what of it is of models without a price.
func (r *installationRoom) Usage(ctx context.Context, request pluginsdk.UsageRequest) (*pluginsdk.UsageResponse, error) {
	usage, err := r.store.Usage(ctx, request)
	if err != nil {
		return nil, err
	}
	if err := r.nameSums(ctx, request.By, usage.Sums); err != nil {
		return nil, err
	}
	if usage.Total.Unsure == 0 {
		return usage, nil
	}
	models := usage
	if request.By != pluginsdk.UsageByModel {
		request.By, request.Limit = pluginsdk.UsageByModel, 1000
		if models, err = r.store.Usage(ctx, request); err != nil {
			return nil, err
		}
	}
	usage.Unpriced = unpricedOf(r.prices.Table(), models.Sums, r.now())
	return usage, nil
}

// nameSums gives sums of threads and tasks their names.
func (r *installationRoom) nameSums(ctx context.Context, by pluginsdk.UsageBy, sums []pluginsdk.UsageSum) error {
	read := r.store.ThreadNames
	switch {
	case by == pluginsdk.UsageByTask:
		read = r.store.TaskTitles
	case by != pluginsdk.UsageByThread:
		return nil
	}
	ids := make([]string, 0, len(sums))
	for _, sum := range sums {
		if sum.Of != "" {
			ids = append(ids, sum.Of)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	names, err := read(ctx, ids)
	for i := range sums {
		sums[i].Name = names[sums[i].Of]
	}
	return err
}
