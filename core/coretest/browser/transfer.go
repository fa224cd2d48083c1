package browser

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// Resource is something that a page has loaded.
type Resource struct {
	URL   string
	Type  string // as Chromium calls it: Document, Stylesheet, Script, Fetch, ...
	Bytes int64  // over the network, with the headers, compressed as they were; 0 from the cache

	whole bool
}

// Transfer is what a page has loaded, in the order of the requests.
type Transfer []Resource

// Bytes is the sum.
func (t Transfer) Bytes() (sum int64) {
	for _, r := range t {
		sum += r.Bytes
	}
	return sum
}

// String is a line for each resource.
func (t Transfer) String() string {
	var lines strings.Builder
	for _, r := range t {
		fmt.Fprintf(&lines, "%8d %-10s %s\n", r.Bytes, r.Type, r.URL)
	}
	return lines.String()
}

// Transferred is what has been loaded since the page was opened or loaded again, also by
// its scripts. Websockets are not counted.
func (p *Page) Transferred() Transfer {
	p.watch.mu.Lock()
	defer p.watch.mu.Unlock()
	var all Transfer
	for _, id := range p.watch.order {
		all = append(all, *p.watch.requests[id])
	}
	return all
}

// forgetTransfers begins to count anew.
func (w *watch) forgetTransfers() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.order = nil
	clear(w.requests)
}

// requested notes a request, once more for each redirect. Called with the lock held.
func (w *watch) requested(e *network.EventRequestWillBeSent) {
	if origin(e.Request.URL) == "" {
		return // data: and the like
	}
	if _, known := w.requests[e.RequestID]; !known {
		w.order = append(w.order, e.RequestID)
	}
	w.requests[e.RequestID] = &Resource{URL: e.Request.URL, Type: e.Type.String()}
}

// Paint is when the page first showed something, from the moment that it was asked for.
func (p *Page) Paint() time.Duration {
	p.t.Helper()
	var milliseconds float64
	p.until("the first paint", func(ctx context.Context) (string, error) {
		found, err := evaluate[[]float64](ctx, p, `performance.getEntriesByName("first-contentful-paint").map(e => e.startTime)`)
		if err != nil || len(found) == 0 {
			return "nothing was painted", err
		}
		milliseconds = found[0]
		return "", nil
	})
	return time.Duration(milliseconds * float64(time.Millisecond))
}

// Busy is the processor time that the page's own thread has used for its scripts, its layout and
// its painting: since it was opened, or since the first call of Busy where that was later.
func (p *Page) Busy() (used time.Duration) {
	p.t.Helper()
	p.do("ask how busy the page is", func(ctx context.Context) error {
		if _, err := chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
			return err
		}
		found, err := chromedp.Call(ctx, performance.GetMetrics, cdp.Empty{})
		for _, metric := range found.Metrics {
			if metric.Name == "TaskDuration" {
				used = time.Duration(metric.Value * float64(time.Second))
			}
		}
		return err
	})
	return used
}
