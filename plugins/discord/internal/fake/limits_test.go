package fake_test

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
)

func TestABucketIsFullUntilItResets(t *testing.T) {
	s := start(t, fake.Config{Limits: map[string]fake.Limit{"send": {Count: 2, Per: time.Minute}}})
	other := s.AddChannel(fake.NewChannel{Guild: s.guild, Name: "other"})
	if a := s.post(object{"content": "1"}); a.status != 200 || a.header.Get("X-RateLimit-Remaining") != "1" || a.header.Get("X-RateLimit-Limit") != "2" {
		t.Fatalf("the first: %v", a)
	}
	s.post(object{"content": "2"})
	if a := s.do("POST", "/channels/"+other+"/messages", object{"content": "x"}); a.status != 200 {
		t.Fatalf("the limit of a channel holds in another: %v", a)
	}
	s.Advance(time.Second) // longer than an answer takes
	a := s.post(object{"content": "3"})
	if a.status != 429 || a.header.Get("Retry-After") != "59" || a.header.Get("X-RateLimit-Scope") != "user" || a.at("global") != false {
		t.Fatalf("the third: %v", a)
	}
	if !slices.Equal(s.rules(), []string{fake.RuleRateLimit}) {
		t.Fatalf("the breaches are %v", s.Breaches())
	}
	s.Advance(time.Minute)
	if a := s.post(object{"content": "4"}); a.status != 200 {
		t.Fatalf("the bucket did not reset: %v", a)
	}
	if got := s.Invalid(); got != 1 {
		t.Errorf("%d invalid requests, not 1", got)
	}
}

func TestAGlobalLimitSaysNotWhenABucketResets(t *testing.T) {
	s := start(t, fake.Config{})
	s.Break(fake.Fault{Kind: fake.FaultLimit, Scope: "global", RetryAfter: 1500 * time.Millisecond, Times: 1})
	a := s.post(object{"content": "1"})
	if a.status != 429 || a.header.Get("Retry-After") != "2" || a.header.Get("X-RateLimit-Global") != "true" || a.at("retry_after") != 1.5 ||
		a.header.Get("X-RateLimit-Reset-After") != "" || a.header.Get("X-RateLimit-Scope") != "global" {
		t.Fatalf("the answer is %v", a)
	}
	s.Advance(time.Second)
	if a := s.do("GET", "/users/@me", nil); a.status != 429 || !slices.Equal(s.rules(), []string{fake.RuleGlobalLimit}) {
		t.Fatalf("another route in a global limit: %v %v", a, s.rules())
	}
	s.Advance(time.Second)
	if a := s.post(object{"content": "1"}); a.status != 200 {
		t.Fatalf("after the limit: %v", a)
	}
}

func TestALimitOfTheChannelItselfIsNotCounted(t *testing.T) {
	s := start(t, fake.Config{})
	s.Break(fake.Fault{Kind: fake.FaultLimit, Scope: "shared", RetryAfter: 20 * time.Second, Times: 1})
	if a := s.post(object{"content": "x"}); a.status != 429 || a.header.Get("X-RateLimit-Scope") != "shared" || a.header.Get("Retry-After") != "20" || s.Invalid() != 0 {
		t.Errorf("the first: %v", a)
	}
	s.Advance(10 * time.Second)
	if a := s.post(object{"content": "x"}); a.status != 429 || !slices.Equal(s.rules(), []string{fake.RuleRateLimit}) {
		t.Errorf("too soon: %v %v", a, s.rules())
	}
	s.Advance(10 * time.Second)
	if a := s.post(object{"content": "x"}); a.status != 200 {
		t.Errorf("after it: %v", a)
	}
}

func TestAllRoutesTogetherHaveALimit(t *testing.T) {
	s := start(t, fake.Config{Global: 2})
	for range 2 {
		s.do("GET", "/users/@me", nil)
	}
	if a := s.post(object{"content": "x"}); a.status != 429 || a.at("global") != true || s.rules() != nil {
		t.Errorf("the third in a second: %v %v", a, s.rules())
	}
	s.Advance(time.Second)
	if a := s.post(object{"content": "x"}); a.status != 200 {
		t.Errorf("a second later: %v", a)
	}
}

func TestALostAnswerIsAMessageNonetheless(t *testing.T) {
	s := start(t, fake.Config{})
	s.Break(fake.Fault{Route: "POST /channels/*/messages", Kind: fake.FaultLost, Times: 1})
	body := object{"content": "1", "nonce": "n", "enforce_nonce": true}
	if a, err := s.try("POST", "/channels/"+s.channel+"/messages", body); err == nil {
		t.Fatalf("an answer came: %v", a)
	}
	said := s.Messages(s.channel)
	if a := s.post(body); len(said) != 1 || a.at("id") != said[0].ID {
		t.Fatalf("the message is not there: %v %v", said, a)
	}
	s.Break(fake.Fault{Route: "POST /channels/*/messages", Kind: fake.FaultCut, Times: 1})
	if a, err := s.try("POST", "/channels/"+s.channel+"/messages", object{"content": "2"}); err == nil || len(s.Messages(s.channel)) != 1 {
		t.Fatalf("it was cut before it was done: %v", a)
	}
	s.Break(fake.Fault{Kind: fake.FaultStatus, Status: 503, Times: 1})
	if a := s.post(object{"content": "2"}); a.status != 503 || len(s.Messages(s.channel)) != 1 {
		t.Fatalf("a 503: %v", a)
	}
}
