package rest

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// limits are Discord's, as its answers have told of them. Nobody waits with the lock held.
// Source: topics/rate-limits.
type limits struct {
	mu      sync.Mutex
	names   map[string]string  // of a route: X-RateLimit-Bucket, once it is known
	buckets map[string]*bucket // by that name, or the route's, and the top-level resource
	global  time.Time          // until then nothing may be asked
}

// bucket is what may still be asked in a window.
type bucket struct {
	limit     int // 0: not told yet
	remaining int
	reset     time.Time     // the window's end
	window    time.Duration // the longest rest of one that was told
	asking    int           // requests under way
	closed    time.Time     // until then it was refused
}

// manyBuckets is how many are kept before those that say nothing any more are dropped:
// each interaction has its own.
const manyBuckets = 256

func newLimits() *limits {
	return &limits{names: make(map[string]string), buckets: make(map[string]*bucket)}
}

// take counts a request; or it says how long to wait before asking again whether one may
// be made. Each bucket that is taken from is given back by settle.
func (l *limits) take(r route, now time.Time) (*bucket, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.global) && !r.interaction() {
		return nil, l.global.Sub(now)
	}
	b := l.bucket(r, now)
	if now.Before(b.closed) {
		return nil, b.closed.Sub(now)
	}
	if !now.Before(b.reset) {
		// An answer may be on its way for longer than the window: Discord may count its request in this one.
		b.remaining, b.reset = b.limit-b.asking, now.Add(b.window)
	}
	if b.limit > 0 && b.remaining <= 0 {
		return nil, b.reset.Sub(now)
	}
	b.remaining--
	b.asking++
	return b, 0
}

// settle gives back what take gave, with the answer's header; nil when there was none.
func (l *limits) settle(taken *bucket, r route, header http.Header, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken.asking--
	if name := header.Get("X-RateLimit-Bucket"); name != "" {
		l.names[r.name()] = name
	}
	limit, err := strconv.Atoi(header.Get("X-RateLimit-Limit"))
	remaining, err2 := strconv.Atoi(header.Get("X-RateLimit-Remaining"))
	rest := seconds(header.Get("X-RateLimit-Reset-After"))
	if err != nil || err2 != nil || rest <= 0 {
		return
	}
	b := l.bucket(r, now)
	// Whether those under way are counted already is not known: they are taken off.
	b.limit, b.remaining, b.reset = limit, remaining-b.asking, now.Add(rest)
	b.window = max(b.window, rest)
}

// refused closes the bucket of the route, or everything, for a time.
func (l *limits) refused(r route, everything bool, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if everything && !r.interaction() {
		l.global = later(l.global, until)
		return
	}
	b := l.bucket(r, time.Now())
	b.closed = later(b.closed, until)
}

// bucket is the route's. The lock is held.
func (l *limits) bucket(r route, now time.Time) *bucket {
	name := l.names[r.name()]
	if name == "" {
		name = r.name()
	}
	key := name + " " + r.resource()
	b := l.buckets[key]
	if b == nil {
		if len(l.buckets) >= manyBuckets {
			for key, old := range l.buckets {
				if old.asking == 0 && now.After(old.reset) && now.After(old.closed) {
					delete(l.buckets, key)
				}
			}
		}
		b = new(bucket)
		l.buckets[key] = b
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// seconds reads a number of them; 0 for what is none.
func seconds(text string) time.Duration {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || !(number > 0 && number < 1e8) {
		return 0
	}
	return time.Duration(number * float64(time.Second))
}
