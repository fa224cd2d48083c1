package cron

import (
	"context"
	"os"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// readLimit is how long a file may be read before its job says that it cannot be read. The read itself cannot be
	// ended: a file system that hangs keeps it. It counts when it comes to an end after all.
	readLimit = 30 * time.Second
	// readEvery is how long there is at least between two reads of a job's file.
	readEvery = 10 * time.Second
	// readsAtOnce is how many files are read at a time, without those that have passed readLimit.
	readsAtOnce = 16
	// mostReads is how many files are read at a time, with those that have passed readLimit: each keeps a thread.
	mostReads = 256
	// statLimit is how long a command waits to know what a file is.
	statLimit = 2 * time.Second
)

// sight is a read of the file that a job's trigger names, beside everything else: a file system that hangs holds up
// no other job, and no command.
type sight struct {
	path  string
	began time.Time
	asked int  // the last look at the jobs that has asked for it; see Plugin.looks
	stale bool // a look did not ask for it since it has begun: it is of before a run, or of before the job was turned on
	over  bool
	taken bool // a look has taken in what was read
	looks string
	err   error
}

// late reports whether the read has passed readLimit.
func (s *sight) late(now time.Time) bool { return !s.over && now.Sub(s.began) >= readLimit }

// see returns what was read of a job's file, once for each read; nil: nothing is known yet. It begins a read unless one of
// the job's goes on, or has begun just now. known is what the file looked like; empty: that is not known. The lock is
// held.
func (p *Plugin) see(jobID, path, known string, now time.Time) *sight {
	if s := p.sights[jobID]; s != nil && s.path == path {
		s.asked = p.looks
		switch {
		case s.late(now):
			return &sight{err: pluginsdk.Errorf(pluginsdk.CodeDeadline, "reading %s has not come to an end in %s: its file system may hang", path, short(readLimit))}
		case !s.over:
			return nil
		case !s.taken && !s.stale:
			s.taken = true
			return s
		case now.Before(s.began.Add(readEvery)) && (known != "" || s.err != nil):
			return nil
		}
	}
	if reads := p.reads.Load(); reads >= mostReads {
		return &sight{err: pluginsdk.Errorf(pluginsdk.CodeExhausted, "%s is not read: reading %d other files has not come to an end", path, reads)}
	}
	if p.readsOnTime(now) >= readsAtOnce {
		return nil // the end of another one has it asked for again
	}
	s := &sight{path: path, began: now, asked: p.looks}
	p.sights[jobID] = s
	p.reads.Add(1)
	work := p.work
	go func() {
		looks, err := p.fingerprint(path, known)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reads.Add(-1)
		s.looks, s.err, s.over = looks, err, true
		if work.Err() == nil {
			p.soon()
		}
	}()
	return nil
}

// readsOnTime counts the reads that have not passed readLimit. The lock is held.
func (p *Plugin) readsOnTime(now time.Time) (n int) {
	for _, s := range p.sights {
		if !s.over && !s.late(now) {
			n++
		}
	}
	return n
}

// overlook forgets the reads of jobs that are not there, and what was begun to be read for those that the look did not
// ask for. The lock is held.
func (p *Plugin) overlook(there map[string]pluginsdk.CronJob) {
	for id, s := range p.sights {
		if _, ok := there[id]; !ok {
			delete(p.sights, id)
		}
		s.stale = s.stale || s.asked != p.looks
	}
}

// fileWords say of a job that fires on a file what is to be known of that file now; empty: nothing, or there is none.
func (p *Plugin) fileWords(ctx context.Context, spec pluginsdk.CronSpec) string {
	trigger, err := triggerOf(spec.Trigger)
	if err != nil || trigger.file == "" {
		return ""
	}
	info, err := p.statFile(ctx, trigger.file)
	switch {
	case os.IsNotExist(err):
		return " There is no such file now."
	case err != nil:
		return " It cannot be looked at now: " + clip(err.Error()) + "."
	case !info.Mode().IsRegular():
		return " That is a directory, or no plain file: only files are watched."
	}
	return ""
}

// statFile finds out what a file is, and waits for that until statLimit or the end of ctx.
func (p *Plugin) statFile(ctx context.Context, path string) (os.FileInfo, error) {
	if reads := p.reads.Add(1); reads > mostReads {
		p.reads.Add(-1)
		return nil, pluginsdk.Errorf(pluginsdk.CodeExhausted, "reading %d other files has not come to an end", reads-1)
	}
	type answer struct {
		info os.FileInfo
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		info, err := p.stat(path)
		p.reads.Add(-1)
		answered <- answer{info, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, statLimit)
	defer cancel()
	select {
	case a := <-answered:
		return a.info, a.err
	case <-ctx.Done():
		return nil, pluginsdk.Errorf(pluginsdk.CodeDeadline, "its file system does not answer")
	}
}
