package browser

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// watch is what is seen of a page. see is called by the browser's goroutine, the rest by
// the test's.
type watch struct {
	answer func(accept bool) // closes a dialog; must not wait

	mu       sync.Mutex
	at       string // address of the page there is
	origin   string
	offline  bool
	faults   []string
	changed  chan struct{} // closed and replaced with every fault
	requests map[network.RequestID]*Resource
	order    []network.RequestID
}

func newWatch() *watch {
	return &watch{changed: make(chan struct{}), requests: make(map[network.RequestID]*Resource)}
}

func (w *watch) open(address string) error {
	found := origin(address)
	if found == "" {
		return fmt.Errorf("open %q: it has to be a whole address, such as http://127.0.0.1:8080/", address)
	}
	w.forgetTransfers()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.origin = address, found
	return nil
}

func (w *watch) address() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *watch) setOffline(offline bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offline = offline
}

// fault notes that something was wrong. Called with the lock held.
func (w *watch) fault(format string, args ...any) {
	fault := fmt.Sprintf(format, args...)
	if slices.Contains(w.faults, fault) {
		return
	}
	w.faults = append(w.faults, fault)
	close(w.changed)
	w.changed = make(chan struct{})
}

// see takes an event in. The browser waits for it.
func (w *watch) see(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			w.fault("console error: %s", said(e.Args))
		}
	case *runtime.EventExceptionThrown:
		// Chromium says so of itself when a page is left before it has faded in.
		if words := thrown(e.ExceptionDetails); !strings.Contains(words, "AbortError: Transition was skipped") {
			w.fault("uncaught exception: %s", words)
		}
	case *log.EventEntryAdded:
		// Requests are judged below, with their status.
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			w.fault("%s error: %s", e.Entry.Source, e.Entry.Text)
		}
	case *audits.EventIssueAdded:
		if d := e.Issue.Details.ContentSecurityPolicyIssueDetails; d != nil {
			w.fault("content security policy: %s is violated%s", d.ViolatedDirective, violation(d))
		}
	case *page.EventJavascriptDialogOpening:
		// A page that asks whether to leave it does so for the person's sake.
		leaving := e.Type == page.DialogTypeBeforeunload
		if !leaving {
			w.fault("dialog: %s(%q)", e.Type, e.Message)
		}
		w.answer(leaving)
	case *page.EventFrameNavigated:
		if e.Frame.ParentID == "" {
			w.at = e.Frame.URL
		}
	case *page.EventWindowOpen:
		w.foreign("window", e.URL)
	case *inspector.EventTargetCrashed:
		w.fault("the page has crashed")
	default:
		w.seeNetwork(event)
	}
}

// seeNetwork takes an event of a request in. Called with the lock held.
func (w *watch) seeNetwork(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		w.foreign("request", e.Request.URL)
		w.requested(e)
	case *network.EventWebSocketCreated:
		w.foreign("websocket", e.URL)
	case *network.EventResponseReceived:
		w.responded(e)
	case *network.EventLoadingFinished:
		if r := w.requests[e.RequestID]; r != nil {
			r.Bytes, r.whole = int64(e.EncodedDataLength), true
		}
	case *network.EventDataReceived:
		if r := w.requests[e.RequestID]; r != nil && !r.whole {
			r.Bytes += e.EncodedDataLength
		}
	case *network.EventLoadingFailed:
		// A page that goes on to another cancels its requests; the policy's refusals
		// are told by the policy.
		if r := w.requests[e.RequestID]; r != nil && !e.Canceled && !w.offline && e.BlockedReason != network.BlockedReasonCsp {
			w.fault("request failed: %s %s: %s %s", r.Type, r.URL, e.ErrorText, e.BlockedReason)
		}
	}
}

// foreign notes an address elsewhere than where the page is from. Called with the lock held.
func (w *watch) foreign(what, address string) {
	if found := origin(address); found != "" && found != w.origin {
		w.fault("%s to another origin: %s", what, address)
	}
}

// responded judges a response: the server's own failures, and what a page is made of that
// is not there. What a script asks for may be refused. Called with the lock held.
func (w *watch) responded(e *network.EventResponseReceived) {
	status := e.Response.Status
	if strings.HasSuffix(e.Response.URL, "/favicon.ico") {
		return // Chromium asks for it by itself, and not always
	}
	switch e.Type {
	case network.ResourceTypeDocument, network.ResourceTypeXHR, network.ResourceTypeFetch, network.ResourceTypeEventSource:
		if status < 500 {
			return
		}
	}
	if status >= 400 {
		w.fault("response %d: %s %s", status, e.Type, e.Response.URL)
	}
}

// take returns the faults so far and forgets them.
func (w *watch) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	faults := w.faults
	w.faults = nil
	return faults
}

// await takes the first fault with words in it out, waiting for it until ctx ends. A false
// means that there is none.
func (w *watch) await(ctx context.Context, words string) (string, bool) {
	for {
		w.mu.Lock()
		at := slices.IndexFunc(w.faults, func(fault string) bool { return strings.Contains(fault, words) })
		if at >= 0 {
			fault := w.faults[at]
			w.faults = slices.Delete(w.faults, at, at+1)
			w.mu.Unlock()
			return fault, true
		}
		changed := w.changed
		w.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return "", false
		}
	}
}

// Faults takes what was wrong on the page since the last time: errors on the console,
// exceptions that nobody caught, violations of the content security policy, requests to
// another origin than the one opened, responses that are the server's failure (5xx), what a
// page is made of and could not be had (4xx, connections), dialogs. Workers are not seen.
func (p *Page) Faults() []string {
	// What the page has told before it answers this has been seen after it.
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void]("0")); err != nil {
		return append(p.watch.take(), "the page does not answer: "+err.Error())
	}
	return p.watch.take()
}

// WaitFault waits for a fault that has words in it, takes it and returns it whole.
func (p *Page) WaitFault(words string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	fault, found := p.watch.await(ctx, words)
	if !found {
		p.fail("nothing was wrong that has the words %q; what was: %q", words, p.watch.take())
	}
	return fault
}

// dismiss closes the dialog that is open. It does not wait for that: the browser's
// goroutine, which calls it, has the answer to read.
func (p *Page) dismiss(accept bool) {
	go func() {
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		defer cancel()
		_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: accept})
	}()
}

// said is what was written to the console.
func said(arguments []*runtime.RemoteObject) string {
	var words []string
	for _, a := range arguments {
		word := strings.Trim(string(a.Value), `"`)
		if word == "" {
			word = a.Description
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func thrown(d *runtime.ExceptionDetails) string {
	words := d.Text
	if d.Exception != nil {
		words += " " + said([]*runtime.RemoteObject{d.Exception})
	}
	return fmt.Sprintf("%s (%s:%d)", words, d.URL, d.LineNumber+1)
}

// violation is what was refused, and where.
func violation(d *audits.ContentSecurityPolicyIssueDetails) (words string) {
	if d.BlockedURL != "" {
		words += " by " + d.BlockedURL
	}
	if at := d.SourceCodeLocation; at != nil {
		words += fmt.Sprintf(" (%s:%d)", at.URL, at.LineNumber+1)
	}
	return words
}
