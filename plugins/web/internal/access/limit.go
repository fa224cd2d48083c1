package access

import (
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
)

const (
	// Of wrong tokens, an address has so many at once, and another one in each of these.
	burstEach, everyEach = 10, 6 * time.Second
	// All addresses together.
	burstAll, everyAll = 100, 600 * time.Millisecond
	// maxAddresses bounds what is remembered of them.
	maxAddresses = 10_000
)

// Limiter counts what goes wrong: by Network, and in all.
type Limiter struct {
	now func() time.Time

	mu   sync.Mutex
	each map[netip.Prefix]*rate.Limiter
	all  *rate.Limiter
}

// NewLimiter returns a Limiter with this clock; nil: time.Now.
func NewLimiter(now func() time.Time) *Limiter {
	if now == nil {
		now = time.Now
	}
	return &Limiter{now: now, each: make(map[netip.Prefix]*rate.Limiter), all: rate.NewLimiter(rate.Every(everyAll), burstAll)}
}

// Fail counts one, and says whether it is too many, and when to come again.
func (l *Limiter) Fail(address netip.Addr) (wait time.Duration, over bool) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.of(address, now).AllowN(now, 1) {
		return everyEach, true
	}
	if !l.all.AllowN(now, 1) {
		return everyAll, true
	}
	return 0, false
}

// Network is the part of an address that one customer has: all of IPv4's, the first 64 bits of
// IPv6's.
func Network(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := 32
	if address.Is6() {
		bits = 64
	}
	network, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // of no known address
	}
	return network
}

func (l *Limiter) of(address netip.Addr, now time.Time) *rate.Limiter {
	network := Network(address)
	known := l.each[network]
	if known == nil {
		l.forget(now)
		known = rate.NewLimiter(rate.Every(everyEach), burstEach)
		l.each[network] = known
	}
	return known
}

// forget makes room: those that have not failed lately go, and all when that is not enough.
func (l *Limiter) forget(now time.Time) {
	if len(l.each) < maxAddresses {
		return
	}
	for network, known := range l.each {
		if known.TokensAt(now) >= burstEach {
			delete(l.each, network)
		}
	}
	if len(l.each) >= maxAddresses {
		clear(l.each)
	}
}

// TooMany answers who has failed too often.
func TooMany(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	problem.Write(w, http.StatusTooManyRequests, "too many wrong tokens have come from this address, or in all; try again later")
}
