package invoker

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// How sessions begin and end.

// startSession starts a process for what is wanted. The binary is looked up each
// time: after an upgrade of the CLI the next process is of the new one, while
// those that run go on as they are. The inbox has its lines
// from the first one on.
func (c *Claude) startSession(w want, resume bool) (*session, *inbox, *pluginsdk.Failure) {
	path, err := c.config.lookPath()
	if err != nil {
		return nil, nil, c.cannotStart(err)
	}
	if info, err := os.Stat(w.cwd); err != nil || !info.IsDir() {
		return nil, nil, otherFailure(fmt.Errorf("the working directory %s is not there", w.cwd))
	}
	id := w.session
	if id == "" {
		id = uuid.NewString()
	}
	environment, settings, err := c.config.environment()
	if err != nil {
		failure := otherFailure(err)
		failure.Retryable = true // perhaps somebody is just writing them
		return nil, nil, failure
	}
	tools, servers, err := c.openTools()
	if err != nil {
		return nil, nil, otherFailure(err)
	}
	files, err := c.writePrivate(map[privateFile][]byte{
		privateMCP: servers, privateSettings: settings, privatePrompt: c.prompt(w),
	})
	if err != nil {
		tools.Close()
		return nil, nil, otherFailure(err)
	}
	s := &session{
		options: w.options,
		id:      id,
		tools:   tools,
		watch:   c.watch,
		log:     c.config.Log.With("thread", w.threadID, "session", id),
	}
	in := s.open()
	s.process, err = startProcess(command{
		path: path,
		args: w.arguments(id, resume, files),
		env:  environment,
		dir:  w.cwd,
		line: s.deliver,
		max:  c.config.maxLine,
		log:  s.log,
	}, c.forker)
	if err != nil {
		tools.Close()
		c.removePrivate(files)
		return nil, nil, c.cannotStart(err)
	}
	c.startedOnce.Store(true)
	s.log.Debug("agent process started", "pid", s.process.cmd.Process.Pid, "resume", resume)
	c.endings.Go(func() {
		<-s.process.exited
		tools.Close()
		c.removePrivate(files)
		c.pool.drop(s)
	})
	return s, in, nil
}

// prompt is what a process's system prompt has after the CLI's own: the manual of
// the working directory, and then, as it is nearer, what the request adds.
func (c *Claude) prompt(w want) []byte {
	manual, err := readManual(w.cwd)
	if err != nil {
		c.config.Log.Warn("the agent does not get all that the working directory has to tell it", "err", err)
	}
	return []byte(manual + w.appendPrompt)
}

// cannotStart is the failure of a turn whose process could not be started. A CLI
// that could be before is probably being upgraded.
func (c *Claude) cannotStart(err error) *pluginsdk.Failure {
	failure := failureOfStart(c.config.Binary, err)
	failure.Retryable = c.startedOnce.Load()
	return failure
}

// endSession ends the session in a place that the caller has taken. next is the
// session that goes on in the place.
func (c *Claude) endSession(at *place, next string) {
	s := at.session
	c.pool.dismiss(at)
	how := s.process.end(c.config.CloseGrace)
	s.log.Debug("agent process ended", "clean", how == endedClean)
	if how == endedClean && s.turns > 0 && !s.fresh && s.id != next && !c.pool.wanted(s.id) {
		c.config.OnClosed(s.threadID, s.id)
	}
	c.pool.clear(at) // not before OnClosed: the session would be open again
}

// endPlaces ends the sessions in places that the caller has taken, in parallel,
// and gives the places back.
func (c *Claude) endPlaces(places []*place) {
	var ending sync.WaitGroup
	for _, at := range places {
		ending.Go(func() {
			defer c.pool.release(at)
			c.endSession(at, "")
		})
	}
	ending.Wait()
}

// reap ends idle sessions until Stop.
func (c *Claude) reap() {
	ticker := time.NewTicker(max(c.config.IdleTimeout/8, time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-c.stopping.Done():
			return
		case now := <-ticker.C:
			c.reapOnce(now)
			c.memory.look()
		}
	}
}

// reapOnce ends the sessions that have been idle for IdleTimeout at now.
func (c *Claude) reapOnce(now time.Time) {
	c.endPlaces(c.pool.takeIdle(now.Add(-c.config.IdleTimeout)))
}

// saysInUse reports whether a process that has ended refused to begin a session
// because it exists.
func saysInUse(p *process) bool {
	said := p.stderr.String()
	return strings.Contains(said, "Session ID") && strings.Contains(said, saysSessionInUse)
}
