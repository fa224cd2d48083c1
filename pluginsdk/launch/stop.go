package launch

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"
)

const (
	// stopTime is the time to end for a Stop whose context has no deadline.
	stopTime = 5 * time.Second
	// leastStopTime is the time below which asking is not worth it.
	leastStopTime = 50 * time.Millisecond
	// killTime bounds the wait for what certainly ends: a killed process, and
	// what hung on it.
	killTime = 5 * time.Second
	// shutdownMethod asks a go-plugin plugin to end. Its messages are empty.
	shutdownMethod = "/plugin.GRPCController/Shutdown"
)

// Stop ends the plugin: it is asked to, then sent SIGTERM at half of the time
// that ctx leaves (5 s without a deadline), and at its end SIGKILL, with its
// whole process group; with less than 50 ms left that is done at once. Then
// nothing of it is left, unless the error says so. The error is nil when the
// plugin ended by itself. Deactivate comes first: a plugin that is stopped while
// active is just cut off. One that was attached to is asked only.
func (p *Plugin) Stop(ctx context.Context) error {
	if p.process.attached != nil {
		return p.detach(ctx)
	}
	killed := p.end(ctx)
	cleanCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	switch cleaned := p.clean(cleanCtx); {
	case !cleaned && p.process.ended():
		return fmt.Errorf("stop plugin %s: a call that it made to the host has not returned", p.name)
	case !cleaned:
		return fmt.Errorf("stop plugin %s: process %d is still there after SIGKILL", p.name, p.PID())
	case killed:
		return fmt.Errorf("stop plugin %s: it did not end in time and was killed", p.name)
	}
	return nil
}

// end ends the process, and reports whether it took SIGKILL.
func (p *Plugin) end(ctx context.Context) (killed bool) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(stopTime)
	}
	if ctx.Err() != nil || time.Until(deadline) < leastStopTime {
		ended := p.process.ended()
		p.process.kill()
		return !ended
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	politeCtx, cancelPolite := context.WithDeadline(ctx, time.Now().Add(time.Until(deadline)/2))
	defer cancelPolite()

	p.askToEnd(politeCtx)
	if p.awaitDone(politeCtx) {
		return false
	}
	if ctx.Err() == nil {
		p.process.signal(syscall.SIGTERM)
		if p.awaitDone(ctx) {
			return false
		}
	}
	p.process.kill()
	return true
}

// askToEnd asks through go-plugin's controller. The answer is often lost with
// the connection, so it says nothing.
func (p *Plugin) askToEnd(ctx context.Context) {
	if p.process.ended() {
		return
	}
	_ = p.link.conn.Invoke(ctx, shutdownMethod, &emptypb.Empty{}, &emptypb.Empty{})
}

func (p *Plugin) awaitDone(ctx context.Context) bool {
	select {
	case <-p.process.done:
		return true
	case <-ctx.Done():
		return p.process.ended()
	}
}

// clean frees what is left of a plugin whose process has ended or was killed,
// and reports whether that was done before ctx ended. It goes on after that.
func (p *Plugin) clean(ctx context.Context) bool {
	p.cleanOnce.Do(func() { go p.free() })
	select {
	case <-p.cleaned:
		return true
	case <-ctx.Done():
		return false
	}
}

// free lets go-plugin end its goroutines and remove its socket directory; that
// waits for the process. Host calls that the plugin made end with it.
func (p *Plugin) free() {
	defer close(p.cleaned)
	p.client.Kill()
	p.closeConns()
	p.stopHost()
}
