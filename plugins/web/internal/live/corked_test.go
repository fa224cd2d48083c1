package live

import (
	"net"
	"strings"
	"testing"
)

// written notes each write.
type written struct {
	net.Conn

	writes []string
}

func (w *written) Write(p []byte) (int, error) {
	w.writes = append(w.writes, string(p))
	return len(p), nil
}

// What happens at once is sent at once, in order, and nothing stays behind.
func TestFramesThatComeTogetherAreOneWrite(t *testing.T) {
	to := &written{}
	c := &corked{Conn: to}
	say := func(text string) {
		if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	say("ping")
	c.cork()
	say("one ")
	say("two ")
	if len(to.writes) != 1 {
		t.Errorf("written while corked: %q", to.writes)
	}
	if err := c.uncork(); err != nil {
		t.Error(err)
	}
	say("three")
	c.cork()
	say(strings.Repeat("x", maxCorked))
	if len(to.writes) != 4 {
		t.Errorf("%d writes: a cork holds no more than it must", len(to.writes))
	}
	if err := c.uncork(); err != nil {
		t.Error(err)
	}
	if got := strings.Join(to.writes[:3], "|"); got != "ping|one two |three" || len(to.writes) != 4 {
		t.Errorf("written %q and %d in all", got, len(to.writes))
	}
}
