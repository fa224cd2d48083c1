package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const (
	maxRefusals = 5                // that a rate limit may give one request
	maxRepeats  = 2                // of a request that got no answer, or a 5xx
	repeatAfter = time.Second / 4  // the first time, then twice as long
	maxAnswer   = 64 << 20         // bytes
	maxTime     = 90 * time.Second // that one attempt takes
)

// routeKey is under what a request's context has its route.
type routeKey struct{}

// transport asks as Discord wants to be asked. It gives the library below the client only
// answers that are good, without the headers of rate limits, which it heeds itself; all
// else is an *Error.
type transport struct {
	next    http.RoundTripper
	token   string
	log     *slog.Logger
	limits  *limits
	refused atomic.Pointer[Error] // the token was: nothing more is asked
}

// RoundTrip asks as often as the request and its context allow.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	r := ctx.Value(routeKey{}).(route)
	if request.Body != nil {
		defer request.Body.Close()
	}
	for refusals, repeats := 0, 0; ; {
		if err := t.refused.Load(); err != nil {
			return nil, err
		}
		taken, err := t.wait(ctx, r)
		if err != nil {
			return nil, err
		}
		response, err := t.once(request)
		if response == nil {
			t.limits.settle(taken, r, nil, time.Now())
		} else {
			t.limits.settle(taken, r, response.Header, time.Now())
		}
		if err == nil && response.StatusCode < 300 {
			maps.DeleteFunc(response.Header, func(name string, _ []string) bool {
				return strings.HasPrefix(name, "X-Ratelimit-")
			})
			return response, nil
		}
		failed := t.failure(r, response, err)
		switch {
		case ctx.Err() != nil:
			failed.cause = context.Cause(ctx)
			return nil, failed
		case failed.Status == http.StatusTooManyRequests && refusals < maxRefusals-1:
			refusals++ // the limits make the next attempt wait
		case (failed.Status == 0 || failed.Status >= 500) && r.repeatable() && repeats < maxRepeats:
			after := repeatAfter << repeats
			repeats++
			if err := sleep(ctx, r, after/2+rand.N(after)); err != nil {
				return nil, failed
			}
		default:
			return nil, failed
		}
	}
}

// once is one attempt. The answer's body is in memory.
func (t *transport) once(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(request.Context(), maxTime, errors.New("it took too long"))
	defer cancel()
	attempt := request.Clone(ctx)
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		attempt.Body = body
	}
	response, err := t.next.RoundTrip(attempt)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errors.New("the answer is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("the answer broke off: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// wait waits until the request may be made, unless its context would end before.
func (t *transport) wait(ctx context.Context, r route) (*bucket, error) {
	for {
		taken, after := t.limits.take(r, time.Now())
		if taken != nil {
			return taken, nil
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < after {
			return nil, &Error{Status: http.StatusTooManyRequests, Message: "it was not asked", RetryAfter: after, route: r.name()}
		}
		if err := sleep(ctx, r, after); err != nil {
			return nil, err
		}
	}
}

// failure puts into words what has gone wrong, and keeps what it means for others.
func (t *transport) failure(r route, response *http.Response, err error) *Error {
	if err != nil {
		return &Error{Message: "Discord did not answer: " + harmless(err), route: r.name()}
	}
	var said refusal
	body, _ := io.ReadAll(response.Body) // of memory
	isJSON := json.Unmarshal(body, &said) == nil
	failed := &Error{Status: response.StatusCode, Code: said.Code, route: r.name()}
	failed.Message = said.words(response.StatusCode)
	if t.token != "" {
		failed.Message = strings.ReplaceAll(failed.Message, t.token, "TOKEN")
	}
	switch {
	case response.StatusCode == http.StatusTooManyRequests:
		header := response.Header
		failed.RetryAfter = max(time.Duration(said.RetryAfter*float64(time.Second)), 0)
		if failed.RetryAfter == 0 {
			failed.RetryAfter = seconds(header.Get("Retry-After"))
		}
		if failed.RetryAfter == 0 {
			failed.RetryAfter = time.Second
		}
		// What does not come from the API itself is a ban of the address.
		global := said.Global || header.Get("X-RateLimit-Global") != "" || header.Get("X-RateLimit-Scope") == "global" || !isJSON
		t.limits.refused(r, global, time.Now().Add(failed.RetryAfter))
		t.log.Warn("discord's rate limit", "route", r.name(), "global", global, "scope", header.Get("X-RateLimit-Scope"), "after", failed.RetryAfter)
	case response.StatusCode == http.StatusUnauthorized && !r.interaction():
		// Addresses that go on after that are banned: topics/rate-limits#invalid-request-limit-aka-cloudflare-bans.
		if t.refused.CompareAndSwap(nil, failed) {
			t.log.Error("discord refuses the bot's token; nothing more is asked with it", "route", r.name())
		}
	}
	return failed
}

// harmless are an error's words without the address, in which there may be a secret.
func harmless(err error) string {
	var address *url.Error
	if errors.As(err, &address) {
		err = address.Err
	}
	return err.Error()
}

// sleep waits, or says that the context has ended.
func sleep(ctx context.Context, r route, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return &Error{Message: "given up while it waited for Discord's rate limit: " + ctx.Err().Error(), route: r.name(), cause: context.Cause(ctx)}
	}
}
