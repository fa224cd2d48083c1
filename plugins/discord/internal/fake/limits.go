package fake

import (
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Limit is how many requests a bucket takes in a time, for each channel, guild or webhook.
type Limit struct {
	Count int           `json:"count"`
	Per   time.Duration `json:"per"`
}

// The buckets. Discord publishes no numbers; these are what its headers are known to say.
// Source: topics/rate-limits.
var defaultLimits = map[string]Limit{
	"account":  {50, time.Second},
	"gateway":  {10, 10 * time.Second},
	"dm":       {10, 10 * time.Second},
	"guild":    {10, 10 * time.Second},
	"channel":  {50, 5 * time.Second},
	"change":   {5, 15 * time.Second},
	"history":  {5, 5 * time.Second},
	"message":  {5, 5 * time.Second},
	"send":     {5, 5 * time.Second},
	"edit":     {5, 5 * time.Second},
	"delete":   {5, time.Second},
	"react":    {1, 250 * time.Millisecond},
	"typing":   {5, 5 * time.Second},
	"thread":   {5, 10 * time.Second},
	"threads":  {5, 5 * time.Second},
	"commands": {10, 20 * time.Second},
	"callback": {5, 5 * time.Second},
	"webhook":  {5, 5 * time.Second},
}

type limits struct {
	limitOf     map[string]Limit
	buckets     map[string]*bucket
	global      bucket
	globalUntil time.Time // of a global 429 that was injected
	globalTold  time.Time // when the bot was told of a global limit
	invalid     []time.Time
}

// bucket counts the requests of one bucket and top-level resource in a window.
type bucket struct {
	left  int
	reset time.Time
	told  time.Time // when the bot was told that none are left until reset

	shared     time.Time // until when the resource is limited, for everybody
	sharedTold time.Time // when the bot was told so
}

func newLimits(config Config) limits {
	l := limits{limitOf: make(map[string]Limit), buckets: make(map[string]*bucket)}
	for name, limit := range defaultLimits {
		if config.NoLimits {
			limit = Limit{Count: 100000, Per: time.Second}
		}
		l.limitOf[name] = limit
	}
	for name, limit := range config.Limits {
		if _, ok := defaultLimits[name]; !ok {
			misuse("there is no bucket %q", name)
		}
		l.limitOf[name] = limit
	}
	return l
}

// toldFor is how long an answer may take to the bot, also when its machine is busy: what it sends before is no breach.
const toldFor = 250 * time.Millisecond

// limit takes a request that arrived from its bucket. It sets the headers, and returns the answer when
// there was none left.
func (s *Server) limit(h http.Header, r *http.Request, route route, fault *Fault, arrived time.Time, note func(string, string, ...any)) (int, any) {
	now := s.now()
	injected := fault != nil && fault.Kind == FaultLimit
	if !route.open {
		if injected && fault.Scope == "global" {
			s.globalUntil = now.Add(fault.RetryAfter)
		}
		if wait := s.globalWait(now, injected); wait > 0 {
			// Rule: topics/rate-limits#exceeding-a-rate-limit-example-exceeded-global-rate-limit-response
			if !s.globalTold.IsZero() && arrived.Sub(s.globalTold) > toldFor && !injected {
				note(RuleGlobalLimit, "a request %v before the end of a global rate limit", wait)
			}
			s.globalTold = now
			h.Set("Retry-After", strconv.Itoa(seconds(wait)))
			h.Set("X-RateLimit-Global", "true")
			h.Set("X-RateLimit-Scope", "global")
			return 429, limited(wait, true)
		}
	}
	limit := s.limitOf[route.bucket]
	key := route.bucket
	for _, top := range []string{"channel", "guild", "token"} {
		if value := r.PathValue(top); value != "" {
			key += " " + value
			break
		}
	}
	b := s.buckets[key]
	if b == nil || !now.Before(b.reset) {
		next := &bucket{left: limit.Count, reset: now.Add(limit.Per)}
		if b != nil {
			next.shared, next.sharedTold = b.shared, b.sharedTold
		}
		b = next
		s.buckets[key] = b
	}
	scope := "user"
	wait := b.reset.Sub(now)
	exceeded := b.left == 0
	switch {
	case injected && fault.Scope == "shared":
		b.shared, b.sharedTold = now.Add(fault.RetryAfter), now
		scope, wait, exceeded = "shared", fault.RetryAfter, true
	case now.Before(b.shared):
		scope, wait, exceeded = "shared", b.shared.Sub(now), true
		if arrived.Sub(b.sharedTold) > toldFor {
			note(RuleRateLimit, "the resource of %q is limited for another %v, of which the bot was told", key, wait)
		}
	case injected && fault.Scope != "global":
		b.left, b.reset, b.told = 0, now.Add(fault.RetryAfter), time.Time{}
		wait, exceeded = fault.RetryAfter, true
	case exceeded:
		if !b.told.IsZero() && arrived.Sub(b.told) > toldFor {
			note(RuleRateLimit, "the bucket %q had none left, and %v until it resets, of which the bot was told", key, wait)
		}
	default:
		b.left--
	}
	if b.left == 0 && b.told.IsZero() && (fault == nil || fault.Kind != FaultLost) {
		b.told = now
		if fault != nil && fault.Kind == FaultSlow {
			b.told = now.Add(fault.Delay)
		}
	}
	hash := fnv.New64a()
	hash.Write([]byte(route.bucket))
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit.Count))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(b.left))
	h.Set("X-RateLimit-Reset", fmt.Sprintf("%.3f", roundUp(float64(b.reset.UnixMicro())/1e6)))
	h.Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", roundUp(b.reset.Sub(now).Seconds())))
	h.Set("X-RateLimit-Bucket", fmt.Sprintf("%016x", hash.Sum64()))
	if !exceeded {
		return 0, nil
	}
	h.Set("Retry-After", strconv.Itoa(seconds(wait)))
	h.Set("X-RateLimit-Scope", scope)
	return 429, limited(wait, false)
}

// globalWait is how long the bot has to wait for its global limit; it counts a request
// when that is nothing.
func (s *Server) globalWait(now time.Time, injected bool) time.Duration {
	if wait := s.globalUntil.Sub(now); wait > 0 {
		return wait
	}
	if injected {
		return 0
	}
	if !now.Before(s.global.reset) {
		s.global = bucket{left: s.config.Global, reset: now.Add(time.Second)}
	}
	if s.global.left == 0 {
		return s.global.reset.Sub(now)
	}
	s.globalTold = time.Time{}
	s.global.left--
	return 0
}

// Source: topics/rate-limits#exceeding-a-rate-limit-rate-limit-response-structure.
func limited(wait time.Duration, global bool) object {
	return object{"message": "You are being rate limited.", "retry_after": roundUp(wait.Seconds()), "global": global}
}

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

func roundUp(seconds float64) float64 { return math.Ceil(seconds*1000) / 1000 }

// count counts requests of which 10,000 in ten minutes shut the bot out.
// Source: topics/rate-limits#invalid-request-limit-aka-cloudflare-bans.
func (s *Server) count(status int, h http.Header) {
	if status == 401 || status == 403 || status == 429 && h.Get("X-RateLimit-Scope") != "shared" {
		s.invalid = append(s.invalid, s.now())
	}
}

// Invalid counts the answers of 401, 403 and 429 so far, of which Discord takes 10,000 in
// ten minutes.
func (s *Server) Invalid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.invalid)
}

// SetLimit gives a bucket another limit.
func (s *Server) SetLimit(bucket string, limit Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.limitOf[bucket]; !ok {
		misuse("there is no bucket %q", bucket)
	}
	s.limitOf[bucket] = limit
}
