package browser

import (
	"context"
	_ "embed" // the page's side
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A condition is looked at again after a while that grows: what has not come at once takes
// long, and each look is work that the page, and the other tests, have to wait for.
const (
	soon  = 20 * time.Millisecond
	later = 160 * time.Millisecond
)

// looks is an object of functions; what they promise stands there.
//
//go:embed scripts/looks.js
var looks string

// Wait waits until the element is visible.
func (p *Page) Wait(selector string) {
	p.t.Helper()
	p.waitFor(selector+" to be visible", call("visible", selector))
}

// WaitGone waits until there is no such element that is visible.
func (p *Page) WaitGone(selector string) {
	p.t.Helper()
	p.waitFor(selector+" to be gone", call("gone", selector))
}

// WaitText waits until the element has text in it.
func (p *Page) WaitText(selector, text string) {
	p.t.Helper()
	p.waitFor(fmt.Sprintf("%s to say %q", selector, text), call("says", selector, text))
}

// WaitTrue waits until an expression of JavaScript is true in the page.
func (p *Page) WaitTrue(expression string) {
	p.t.Helper()
	p.until(expression, func(ctx context.Context) (string, error) {
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && !holds {
			return "it is not true", nil
		}
		return "", err
	})
}

// Text is what is seen of the element's text. It waits until there is one.
func (p *Page) Text(selector string) (text string) {
	p.t.Helper()
	p.until("the text of "+selector, func(ctx context.Context) (string, error) {
		found, err := evaluate[[]string](ctx, p, call("text", selector))
		if err != nil || len(found) == 0 {
			return "there is no such element", err
		}
		text = found[0]
		return "", nil
	})
	return text
}

// Eval evaluates an expression of JavaScript in the page, a promise to its end, and decodes
// its value into into, which may be nil. Where the page's scripts do not run, no promise
// comes to an end.
func (p *Page) Eval(expression string, into any) {
	p.t.Helper()
	p.do("evaluate "+expression, func(ctx context.Context) error {
		value, err := chromedp.Run(ctx, chromedp.Evaluate[[]byte](expression, chromedp.EvalAwaitPromise, chromedp.EvalAsValue))
		if err != nil || into == nil {
			return err
		}
		return json.Unmarshal(value, into)
	})
}

// waitFor waits until an expression on looks has nothing to say.
func (p *Page) waitFor(what, expression string) {
	p.t.Helper()
	p.until(what, func(ctx context.Context) (string, error) { return evaluate[string](ctx, p, expression) })
}

// until waits until holds says that nothing is missing. An error is as something that is
// missing: the page may be on its way to another.
func (p *Page) until(what string, holds func(ctx context.Context) (missing string, err error)) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	again := soon
	for last := ""; ; again = min(again*3/2, later) {
		missing, err := holds(ctx)
		switch {
		case err == nil && missing == "":
			return
		case err == nil:
			last = missing
		case ctx.Err() == nil:
			last = err.Error()
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			p.fail("waited for %s: %s", what, last)
		}
	}
}

// do does something that has to succeed in time.
func (p *Page) do(what string, act func(ctx context.Context) error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := act(ctx); err != nil {
		p.fail("%s: %v", what, err)
	}
}

// fail ends the test.
func (p *Page) fail(format string, args ...any) {
	p.t.Helper()
	p.keepScreenshot()
	p.t.Fatalf("on %s: %s", p.watch.address(), fmt.Sprintf(format, args...))
}

// world is where the functions of looks live: beside the page's scripts, with the same
// document.
func (p *Page) world(ctx context.Context) (runtime.ExecutionContextID, error) {
	tree, err := chromedp.Call(ctx, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return 0, err
	}
	made, err := chromedp.Call(ctx, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: tree.FrameTree.Frame.ID, WorldName: "test"})
	return made.ExecutionContextID, err
}

// evaluate evaluates an expression in which looks is known.
func evaluate[T any](ctx context.Context, p *Page, expression string) (value T, err error) {
	world, err := p.world(ctx)
	if err != nil {
		return value, err
	}
	return chromedp.Run(ctx, chromedp.Evaluate[T]("var looks = globalThis.looks ?? ("+looks+");\n"+expression,
		chromedp.EvalAwaitPromise, func(params *runtime.EvaluateParams) { params.ContextID = world }))
}

// call is the expression that calls a function of looks.
func call(function string, arguments ...any) string {
	written := "looks." + function + "("
	for n, argument := range arguments {
		if n > 0 {
			written += ", "
		}
		value, err := json.Marshal(argument)
		if err != nil {
			panic(err) // strings and numbers only
		}
		written += string(value)
	}
	return written + ")"
}

// Screenshot writes what is seen in the viewport to a file, as PNG.
func (p *Page) Screenshot(path string) {
	p.t.Helper()
	p.do("take a screenshot", func(ctx context.Context) error { return shoot(ctx, path, false) })
}

// ScreenshotWhole writes the whole page to a file, as PNG.
func (p *Page) ScreenshotWhole(path string) {
	p.t.Helper()
	p.do("take a screenshot", func(ctx context.Context) error { return shoot(ctx, path, true) })
}

func shoot(ctx context.Context, path string, whole bool) error {
	taken, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &whole})
	if err != nil {
		return err
	}
	return os.WriteFile(path, taken.Data, 0o600)
}

// keepScreenshot leaves what a failure looks like where HARNESS_TEST_SCREENSHOTS says.
func (p *Page) keepScreenshot() {
	dir := os.Getenv("HARNESS_TEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	p.shots++
	name := fmt.Sprintf("%s-%d.png", regexp.MustCompile(`[^\w-]+`).ReplaceAllString(p.t.Name(), "_"), p.shots)
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		p.t.Logf("no screenshot: %v", err)
		return
	}
	if err := shoot(ctx, filepath.Join(dir, name), true); err != nil {
		p.t.Logf("no screenshot: %v", err)
		return
	}
	p.t.Logf("screenshot: %s", filepath.Join(dir, name))
}
