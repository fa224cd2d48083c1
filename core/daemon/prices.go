package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/invoker"
	"github.com/seed-706843ae/harness/core/invoker/prices"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// pricesGood is how long after somebody has compared them with their sources prices are taken
	// for right.
	pricesGood = 180 * 24 * time.Hour
	// unpricedSince is how long ago a model was used, at most, whose missing price doctor names.
	unpricedSince = 7 * 24 * time.Hour
)

func (c Config) prices() string { return filepath.Join(c.Data, prices.FileName) }

// Prices returns the prices of API calls as a daemon with this configuration would read them now,
// with the path of the operator's file, which need not be there.
func Prices(config Config) (table *prices.Table, path string, err error) {
	table, err = prices.Read(config.prices())
	return table, config.prices(), err
}

// checkPrices is silent while the prices of all models in use are known, and not old.
func checkPrices(ctx context.Context, config Config, database *store.Store, now time.Time) (checks []Check) {
	say := func(detail, remedy string) {
		checks = append(checks, Check{Name: "prices", Optional: true, Detail: detail, Remedy: remedy})
	}
	table, path, err := Prices(config)
	if err != nil {
		say("the operator's prices are not used: "+err.Error()+"; the daemon goes on with the last good ones that it has read, or with the shipped ones",
			"correct "+path+" (see \"Prices\" in docs/operating.md), or take the file away; the daemon reads it again with the next turn")
		table = prices.Shipped()
	}
	if config.Agent == "demo" {
		return checks
	}
	switch age := now.Sub(table.Checked); {
	case age > pricesGood:
		say(fmt.Sprintf("the prices were compared with their sources on %s, %d days ago", table.Checked.Format(time.DateOnly), int(age.Hours()/24)),
			"upgrade Harness, or compare `harness usage prices` with its sources and say so in "+path+`: {"checked": "`+now.UTC().Format(time.DateOnly)+`", "models": []}`)
	case age < -24*time.Hour:
		say("the prices were checked on a day that has not come: "+table.Checked.Format(time.DateOnly), "correct \"checked\" in "+path)
	}
	unpriced, err := unpricedModels(ctx, table, database, now)
	switch {
	case err != nil:
		say(err.Error(), "see the line of the database")
	case len(unpriced) > 0:
		dearest, entry := table.Dearest(now)
		say(fmt.Sprintf("models without a price were used in the last 7 days: %s; caps and budgets price them as the dearest known one, %s ($%s in, $%s out for a million tokens)",
			strings.Join(unpriced, ", "), entry.Model, plain(dearest.Input), plain(dearest.Output)),
			"give their prices in "+path+" (see \"Prices\" in docs/operating.md), or upgrade Harness")
	}
	return checks
}

// unpricedModels are the models of the last days whose price is not known.
func unpricedModels(ctx context.Context, table *prices.Table, database *store.Store, now time.Time) (models []string, err error) {
	usage, err := database.Usage(ctx, pluginsdk.UsageRequest{By: pluginsdk.UsageByModel, Since: now.Add(-unpricedSince), Limit: 1000})
	if err != nil {
		return nil, err
	}
	for _, sum := range unpricedOf(table, usage.Sums, now) {
		models = append(models, sum.Of)
	}
	return models, nil
}

// unpricedOf are the sums of models without a price. A turn of such a model is always unsure. The
// demo agent has no price, and costs nothing.
func unpricedOf(table *prices.Table, sums []pluginsdk.UsageSum, now time.Time) (unpriced []pluginsdk.UsageSum) {
	for _, sum := range sums {
		if _, _, known := table.Of(sum.Of, now); !known && sum.Of != "" && sum.Of != invoker.DemoModel && sum.Unsure > 0 {
			unpriced = append(unpriced, sum)
		}
	}
	return unpriced
}

// tellUnpriced tells people once of a model without a price, whatever has happened since. The log
// says it with each start of the daemon.
func (d *Daemon) tellUnpriced(model string) {
	ctx, cancel := context.WithTimeout(context.Background(), readyPatience)
	defer cancel()
	dearest, entry := d.prices.Table().Dearest(time.Now())
	text := fmt.Sprintf("The price of the model %s is not known. Caps and budgets price it as the dearest known model, %s ($%s in, $%s out for a million tokens), and costs of its turns have the sign ≈. "+
		"Give its price in %s (`harness usage prices` shows the others), or upgrade Harness.",
		model, entry.Model, plain(dearest.Input), plain(dearest.Output), d.config.prices())
	if err := d.tellPrimary(ctx, "unpriced/"+model, notePriceUnknown, text); err != nil {
		d.log.Warn("people cannot be told of a model without a price", "model", model, "err", err)
	}
}

// notePriceUnknown is the event in the metadata of what tellUnpriced tells.
const notePriceUnknown = "price_unknown"

// plain is a price for people.
func plain(usd float64) string { return fmt.Sprintf("%.4g", usd) }
