package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Violation is a rule of accessibility that the page breaks.
type Violation struct {
	Rule, Impact, Help string
	Nodes              []Node
}

// Node is an element that breaks a rule.
type Node struct {
	Selector string
	Summary  string // what to change
}

// String is the violation with its elements, a line each.
func (v Violation) String() string {
	var words strings.Builder
	fmt.Fprintf(&words, "%s (%s): %s", v.Rule, v.Impact, v.Help)
	for _, n := range v.Nodes {
		fmt.Fprintf(&words, "\n  %s: %s", n.Selector, strings.Join(strings.Fields(n.Summary), " "))
	}
	return words.String()
}

// Axe holds the page, as it is now, against the rules of WCAG 2.0, 2.1 and 2.2, A and AA,
// that a program can judge, or against the rules that are named only. Without HARNESS_TEST_AXE,
// which .ci/test-env sets, the test is left out from there on.
func (p *Page) Axe(rules ...string) []Violation {
	p.t.Helper()
	return p.axe(call("axe", rules))
}

// AxeOfLayout judges a page again whose layout has changed since Axe judged it, as for a phone: by all rules,
// but the contrast only of elements that were not visible then. With colours, that contrast alone is judged.
func (p *Page) AxeOfLayout(colours bool) []Violation {
	p.t.Helper()
	return p.axe(call("axeOfLayout", colours))
}

func (p *Page) axe(expression string) (found []Violation) {
	p.t.Helper()
	path := os.Getenv("HARNESS_TEST_AXE")
	if path == "" {
		p.t.Skip("left out: HARNESS_TEST_AXE is not set (.ci/test-env sets it)")
	}
	program, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.do("axe", func(ctx context.Context) error {
		// The page's own scripts have had their time; axe's must run.
		if err := switchScripts(ctx, true); err != nil {
			return err
		}
		world, err := p.world(ctx)
		if err != nil {
			return err
		}
		within := func(params *runtime.EvaluateParams) { params.ContextID = world }
		known, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`typeof axe !== "undefined"`, within))
		if err == nil && !known {
			_, err = chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](string(program), within))
		}
		if err != nil {
			return err
		}
		found, err = evaluate[[]Violation](ctx, p, expression)
		return errors.Join(err, switchScripts(ctx, !p.options.NoScript))
	})
	return found
}

// Overflow returns the elements that reach beyond the viewport's width, if the page has to
// be scrolled sideways for them.
func (p *Page) Overflow() []string {
	p.t.Helper()
	return p.elements(call("overflow", p.options.Width))
}

// SmallTargets returns what can be clicked and is less than 24 by 24 CSS pixels (WCAG
// 2.5.8), with its size: but for links within text, and what has as much room around it. A
// label belongs to its control.
func (p *Page) SmallTargets() []string {
	p.t.Helper()
	return p.elements(call("smallTargets"))
}

// FocusInvisible gives the focus to all that can have it by the key Tab, as one has it who has
// pressed that key, and returns the elements that look with the focus as they do without:
// outline, shadow, border, background, underline, size and place, of their label and what is
// around too.
func (p *Page) FocusInvisible() []string {
	p.t.Helper()
	p.waitFor("the page without a focus", call("unfocused"))
	// From here on the page knows that the keyboard is used, and shows :focus-visible. A key
	// for each element would cost ten times as much.
	p.do("press Tab", func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.KeyEvent(kb.Tab)) })
	return p.elements(call("focusInvisible"))
}

// elements are those that an expression on looks returns.
func (p *Page) elements(expression string) (found []string) {
	p.t.Helper()
	p.do(expression, func(ctx context.Context) (err error) {
		found, err = evaluate[[]string](ctx, p, expression)
		return err
	})
	return found
}
