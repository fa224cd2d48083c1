package access

import (
	"fmt"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"
)

// Who guesses is told to wait, however many addresses they have: of IPv6 anybody has 2^64.
func TestGuessesAreCountedByWhoeverMakesThem(t *testing.T) {
	clock := time.Now()
	l := NewLimiter(func() time.Time { return clock })
	fail := func(address string) (wait time.Duration, over bool) { return l.Fail(netip.MustParseAddr(address)) }
	for n := range burstEach {
		if _, over := fail(fmt.Sprintf("2001:db8::%x", n+1)); over {
			t.Fatalf("guess %d is too many", n+1)
		}
	}
	if wait, over := fail("2001:db8::ffff:0:0:1"); !over || wait != everyEach {
		t.Errorf("one more from the network: %v %s", over, wait)
	}
	if _, over := fail("2001:db8:0:1::1"); over {
		t.Error("another network has to wait")
	}
	clock = clock.Add(everyEach)
	if _, over := fail("2001:db8::1"); over {
		t.Error("who has waited has to wait on")
	}
	if _, over := fail("2001:db8::1"); !over {
		t.Error("who has waited once may guess twice")
	}
	clock = clock.Add(time.Hour)
	for n := range burstAll {
		if _, over := fail(fmt.Sprintf("192.0.2.%d", n+1)); over {
			t.Fatalf("guess %d of all is too many", n+1)
		}
	}
	if wait, over := fail("198.51.100.1"); !over || wait != everyAll {
		t.Errorf("one more of all: %v %s", over, wait)
	}
	for n := range 2*maxAddresses + 1 {
		l.Fail(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}))
	}
	if len(l.each) > maxAddresses {
		t.Errorf("%d addresses are remembered", len(l.each))
	}
}

// Where a guess comes from is what the connection says, not what the guesser writes.
func TestWhereARequestComesFrom(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.7:1234": "192.0.2.7/32", "[::ffff:192.0.2.7]:1234": "192.0.2.7/32",
		"[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64", "@": "invalid Prefix",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = remote
		for _, name := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded"} {
			r.Header.Set(name, "203.0.113.9")
		}
		if got := Network(Address(r)).String(); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}
