// Package browser opens pages in a real Chromium for tests, and watches them: what goes
// wrong on a page fails the test that opened it, whether or not the test looked for it.
//
//	b := browser.Start(t)
//	p := b.Page(t, browser.Options{Width: 375, Height: 667, Mobile: true})
//	p.Open(url + "/login")
//	p.Type("#token", secret)
//	p.Click("button[type=submit]")
//	p.WaitText("h1", "Threads")
//
// Selectors are those of CSS and mean the first element. Whatever is waited for has two
// minutes; then the test fails with the page's address, and with a screenshot if
// HARNESS_TEST_SCREENSHOTS names a directory. The methods of a page end the test where
// they fail, so that they are called by the test's goroutine alone.
package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/seed-706843ae/harness/core/coretest/owner"
)

// patience is how long anything on a page may take, also beside a build that has all processors.
const patience = 2 * time.Minute

// Browser is a process of Chromium with a profile of its own. It reaches loopback, and no
// other host has an address in it.
type Browser struct {
	ctx context.Context
}

// Start starts a browser that ends with the test. Without HARNESS_TEST_CHROMIUM, which
// .ci/test-env sets, the test is left out.
func Start(t testing.TB) *Browser {
	t.Helper()
	b, end, err := launch(chromium(t), t.TempDir())
	t.Cleanup(end)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// shared is the browser of all tests of a package, once one has asked for it.
var shared struct {
	sync.Mutex
	browser *Browser
	end     func()
}

// Shared returns the browser that the tests of a package share: a start costs more than most
// tests, and pages of one browser share no more than those of two. It starts with the first
// test that asks; TestMain ends it by EndShared. Tests are left out as by Start.
func Shared(t testing.TB) *Browser {
	t.Helper()
	program := chromium(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.browser != nil {
		return shared.browser
	}
	home, err := os.MkdirTemp("", "harness-browser")
	if err != nil {
		t.Fatal(err)
	}
	b, end, err := launch(program, home)
	if err != nil {
		end()
		t.Fatal(errors.Join(err, os.RemoveAll(home)))
	}
	shared.browser, shared.end = b, func() {
		end()
		_ = os.RemoveAll(home)
	}
	return b
}

// EndShared ends the browser that tests have shared, if there is one.
func EndShared() {
	shared.Lock()
	defer shared.Unlock()
	if shared.browser != nil {
		shared.end()
		shared.browser, shared.end = nil, nil
	}
}

// chromium is the program. Without one the test is left out.
func chromium(t testing.TB) string {
	t.Helper()
	program := os.Getenv("HARNESS_TEST_CHROMIUM")
	if program == "" {
		t.Skip("left out: HARNESS_TEST_CHROMIUM is not set (.ci/test-env sets it)")
	}
	return program
}

// unwanted are features that are switched off: what chromedp switches off by itself, a renderer
// in reserve for each page, and the pages that fill what opens below the address bar, which a
// window loads into a renderer of its own before anybody types: two thirds of what a page costs.
const unwanted = "Translate,BlinkGenPropertyTrees,SpareRendererForSitePerProcess,WebUIOmniboxPopup,WebUIOmniboxAimPopup"

// launch starts a browser. What Chromium keeps besides its profile goes into home. end, which is
// to be called in any case, kills the process and those that it has started, and waits for them.
func launch(program, home string) (b *Browser, end func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.Env("HOME="+home), chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.Flag("no-proxy-server", true), chromedp.Flag("disable-features", unwanted),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE [::1]"))
	ctx, kill := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, leave := chromedp.NewContext(ctx)
	end = func() {
		leave()
		kill()
	}
	if err := chromedp.Do(ctx); err != nil {
		return nil, end, fmt.Errorf("start %s: %w", program, err)
	}
	return &Browser{ctx: ctx}, end, nil
}

// Options say what is opened.
type Options struct {
	Width, Height int           // of the viewport, in CSS pixels; 0: 1280 and 800
	Mobile        bool          // a phone: touch, the viewport that the page asks for, two pixels to each
	Dark          bool          // the person prefers dark colours
	NoScript      bool          // the page's scripts do not run
	Stranger      bool          // nobody is logged in; else the owner is, at daemons that are known (coretest/owner)
	Cookies       []http.Cookie // set for the first address that is opened: Name, Value, HttpOnly, SameSite
}

var sameSite = map[http.SameSite]network.CookieSameSite{
	http.SameSiteLaxMode: network.CookieSameSiteLax, http.SameSiteStrictMode: network.CookieSameSiteStrict,
	http.SameSiteNoneMode: network.CookieSameSiteNone,
}

// Page is a page in a browser context of its own: it shares no cookies, storage or cache with another.
type Page struct {
	t       testing.TB
	ctx     context.Context
	options Options
	watch   *watch
	shots   int
}

// Page opens an empty page that is closed when t ends. What was wrong on it by then, and
// was not taken with Faults, fails t.
func (b *Browser) Page(t testing.TB, options Options) *Page {
	t.Helper()
	w := newWatch()
	ctx, leave := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(w.see))
	t.Cleanup(leave)
	p := &Page{t: t, ctx: ctx, options: options, watch: w}
	w.answer = p.dismiss
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a page: %v", err)
	}
	p.do("watch the page", func(ctx context.Context) error {
		if _, err := chromedp.Call(ctx, audits.Enable, cdp.Empty{}); err != nil {
			return err
		}
		// Every page believes that it is the one in front.
		_, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		return err
	})
	p.Look(options)
	p.do("switch scripts", func(ctx context.Context) error { return switchScripts(ctx, !options.NoScript) })
	t.Cleanup(p.close)
	return p
}

func switchScripts(ctx context.Context, on bool) error {
	_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
	return err
}

// close tells what was wrong. The page is closed after it.
func (p *Page) close() {
	faults := p.Faults()
	for _, fault := range faults {
		p.t.Errorf("on %s: %s", p.watch.address(), fault)
	}
	if len(faults) > 0 {
		p.keepScreenshot()
	}
}

// Open goes to an address and returns once the page has loaded, whatever the status. From
// then on the address' origin is the one that the page may make requests to.
func (p *Page) Open(address string) {
	p.t.Helper()
	if err := p.watch.open(address); err != nil {
		p.t.Fatal(err)
	}
	p.logIn(address)
	p.do("set cookies for "+address, func(ctx context.Context) error {
		for _, c := range p.options.Cookies {
			param := network.SetCookieParams{Name: c.Name, Value: c.Value, URL: address, HTTPOnly: &c.HttpOnly, SameSite: sameSite[c.SameSite]}
			if _, err := chromedp.Call(ctx, network.SetCookie, param); err != nil {
				return err
			}
		}
		p.options.Cookies = nil
		return nil
	})
	p.do("open "+address, func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.Navigate(address)) })
}

// logIn has the owner logged in at the first address that is opened.
func (p *Page) logIn(address string) {
	p.t.Helper()
	if p.options.Stranger || len(p.options.Cookies) > 0 {
		return
	}
	p.options.Stranger = true
	cookies, err := owner.Session(address)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, cookie := range cookies {
		p.options.Cookies = append(p.options.Cookies, *cookie)
	}
}

// ClearCache forgets what was loaded before, as if the next address were the first.
func (p *Page) ClearCache() {
	p.t.Helper()
	p.do("clear the cache", func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, network.ClearBrowserCache, cdp.Empty{})
		return err
	})
}

// Reload loads the page again. The bytes are counted anew.
func (p *Page) Reload() {
	p.t.Helper()
	p.watch.forgetTransfers()
	p.do("reload", func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.Reload()) })
}

// Resize changes the viewport.
func (p *Page) Resize(width, height int) {
	p.t.Helper()
	changed := p.options
	changed.Width, changed.Height = width, height
	p.Look(changed)
}

// Look changes the viewport, the kind of device and the colours that the person prefers, without
// loading the page again. Of the options, only Width, Height, Mobile and Dark count.
func (p *Page) Look(as Options) {
	p.t.Helper()
	p.options.Width, p.options.Height, p.options.Mobile, p.options.Dark = cmp.Or(as.Width, 1280), cmp.Or(as.Height, 800), as.Mobile, as.Dark
	p.do("choose the colours", func(ctx context.Context) error {
		scheme := "light"
		if p.options.Dark {
			scheme = "dark"
		}
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
	p.do("resize", func(ctx context.Context) error {
		params := emulation.SetDeviceMetricsOverrideParams{Width: int64(p.options.Width), Height: int64(p.options.Height), DeviceScaleFactor: 1}
		if p.options.Mobile {
			params.Mobile, params.DeviceScaleFactor = true, 2
		}
		if _, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, params); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: p.options.Mobile})
		return err
	})
}

// SetOffline takes the network away, with the connections that are open, and gives it back.
// Requests that fail without one are no faults.
func (p *Page) SetOffline(offline bool) {
	p.t.Helper()
	p.watch.setOffline(offline)
	p.do("change the network", func(ctx context.Context) error {
		// The command that has taken its place is not the same in all versions.
		params := network.OverrideNetworkStateParams{Offline: offline, DownloadThroughput: -1, UploadThroughput: -1}
		if err := chromedp.FromContext(ctx).Target.Call(ctx, "Network.emulateNetworkConditions", params, nil); err != nil || !offline {
			return err
		}
		return closeSockets(ctx)
	})
}

// closeSockets closes the websockets of the page, which outlive the network otherwise.
func closeSockets(ctx context.Context) error {
	prototype, err := chromedp.Run(ctx, chromedp.Evaluate[*runtime.RemoteObject]("WebSocket.prototype"))
	if err != nil {
		return err
	}
	sockets, err := chromedp.Call(ctx, runtime.QueryObjects, runtime.QueryObjectsParams{PrototypeObjectID: prototype.ObjectID})
	if err != nil {
		return err
	}
	_, err = chromedp.Call(ctx, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
		ObjectID: sockets.Objects.ObjectID, FunctionDeclaration: "function() { for (const socket of this) { socket.close() } }",
	})
	return err
}

// origin is the scheme, host and port of an address. Those of websockets are those of the
// pages that may open them; an address without a host has none.
func origin(address string) string {
	u, err := url.Parse(strings.TrimPrefix(address, "blob:"))
	if err != nil || u.Host == "" {
		return ""
	}
	switch u.Scheme {
	case "ws":
		u.Scheme = "http"
	case "wss":
		u.Scheme = "https"
	}
	return u.Scheme + "://" + u.Host
}
