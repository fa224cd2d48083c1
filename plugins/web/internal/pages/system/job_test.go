package system

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"
)

// What takes long goes on when the reader leaves the page, is not begun twice, and says how it
// ended.
func TestAJobOutlivesTheRequestThatBeganIt(t *testing.T) {
	var j job[string]
	if j.state().underWay() {
		t.Error("it is under way before anybody has begun it")
	}
	began, let, times := make(chan struct{}), make(chan error), 0
	work := func(ctx context.Context) (string, error) {
		times++
		close(began)
		select {
		case err := <-let:
			return "made", err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	request := httptest.NewRequest("POST", "/", nil).WithContext(ctx)
	j.begin(request, time.Hour, 0, work)
	<-began
	leave()
	j.begin(request, time.Hour, 0, work)
	now := j.state()
	if !now.underWay() {
		t.Fatalf("it has ended with its request: %+v", now)
	}
	let <- nil
	<-now.done
	if ended := j.state(); ended.underWay() || ended.result != "made" || ended.err != nil || times != 1 {
		t.Errorf("%+v, begun %d times", ended, times)
	}

	wrong := errors.New("no room")
	began = make(chan struct{})
	go func() { let <- wrong }()
	j.begin(httptest.NewRequest("POST", "/", nil).WithContext(t.Context()), time.Hour, time.Hour, work)
	if ended := j.state(); !errors.Is(ended.err, wrong) {
		t.Errorf("who waits for it is not told: %+v", ended)
	}
}

func TestAJobThatTakesTooLongIsEnded(t *testing.T) {
	var j job[int]
	j.begin(httptest.NewRequest("POST", "/", nil), time.Nanosecond, time.Hour, func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	})
	if ended := j.state(); !errors.Is(ended.err, context.DeadlineExceeded) {
		t.Errorf("%+v", ended)
	}
}
