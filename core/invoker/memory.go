package invoker

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// remeasure is how often memory is measured while a process waits to be started: memory
// that a tool frees is announced by nobody.
const remeasure = 100 * time.Millisecond

// footprint is the resident memory of a process, in bytes. Pages that processes share
// count in each of them.
type footprint struct {
	own  int64
	tree int64 // own, and that of the process's descendants
}

// footprints returns the resident memory of those of the processes that exist.
func footprints(pids []int) map[int]footprint {
	var r proc.Reader
	sizes := map[int]footprint{}
	children := readFamilies()
	for _, pid := range pids {
		stat, ok := r.Stat(pid)
		if !ok {
			continue
		}
		size := footprint{own: stat.Resident, tree: stat.Resident}
		for _, below := range children.below(pid) {
			size.tree += below.Resident
		}
		sizes[pid] = size
	}
	return sizes
}

// memory keeps the CLI's processes within Config.MemoryBudget, as far as idle ones can be
// ended for that. A nil one does nothing.
type memory struct {
	budget  int64
	measure func(pids []int) map[int]footprint
	check   chan struct{} // look wakes keepMemory; holds at most one value
	gate    chan struct{} // a lock that can be given up: full while a goroutine measures and decides

	estimate int64        // bytes that a new process will use; guarded by gate
	starting atomic.Int64 // processes that were admitted and are not in the pool yet
}

// newMemory returns nil without a budget, and on a system without /proc.
func newMemory(c Config) *memory {
	if c.MemoryBudget == 0 {
		return nil
	}
	if self := os.Getpid(); c.measure([]int{self})[self].own == 0 {
		c.Log.Warn("the agent's memory budget is ignored: it needs /proc, which is not there", "budget", c.MemoryBudget)
		return nil
	}
	return &memory{
		budget: c.MemoryBudget, measure: c.measure,
		check: make(chan struct{}, 1), gate: make(chan struct{}, 1),
	}
}

// look has the memory checked soon. It does not wait for that.
func (m *memory) look() {
	if m == nil {
		return
	}
	select {
	case m.check <- struct{}{}:
	default:
	}
}

// keepMemory checks the memory after each look, until Stop.
func (c *Claude) keepMemory() {
	for {
		select {
		case <-c.stopping.Done():
			return
		case <-c.memory.check:
			c.trim()
		}
	}
}

// trim ends idle sessions, the least recently used first, until the processes use no more
// than the budget.
func (c *Claude) trim() {
	m := c.memory
	m.gate <- struct{}{}
	defer func() { <-m.gate }()
	for {
		if used, _ := c.used(); used <= m.budget || !c.evict(used) {
			return
		}
	}
}

// admit waits until one more process is likely to fit into the budget; it ends idle
// sessions for that, and has turns parked that wait for people. The only process need not fit. The caller calls started once the
// process is in the pool, or was not started.
func (c *Claude) admit(ctx context.Context) (started func(), err error) {
	m := c.memory
	if m == nil {
		return func() {}, nil
	}
	for said := false; ; said = true {
		if c.makeRoom(ctx) {
			return func() { m.starting.Add(-1); m.look() }, nil
		}
		if !said {
			c.config.Log.Info("a turn waits: its process would not fit into the memory budget", "budget", m.budget)
		}
		c.pool.parkOne()
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(remeasure):
		}
	}
}

// makeRoom reports whether one more process may be started, and if so counts it as
// starting.
func (c *Claude) makeRoom(ctx context.Context) bool {
	m := c.memory
	select {
	case m.gate <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-m.gate }()
	for {
		used, processes := c.used()
		if processes == 0 || used+m.estimate <= m.budget {
			m.starting.Add(1)
			return true
		}
		if !c.evict(used) {
			return false
		}
	}
}

// used returns what the processes use, and how many there are. A process that has not
// ended a turn yet still grows: it counts at least as much as the largest one that has.
func (c *Claude) used() (bytes int64, processes int) {
	m := c.memory
	starting := int(m.starting.Load()) // read before the sessions: a starting process may become one
	var pids []int
	var grown []bool
	for _, s := range c.pool.sessions() {
		if s.alive() {
			pids = append(pids, s.process.cmd.Process.Pid)
			grown = append(grown, s.grown.Load())
		}
	}
	sizes := m.measure(pids)
	var largest int64
	for i, pid := range pids {
		if grown[i] {
			largest = max(largest, sizes[pid].own)
		}
	}
	if largest > 0 {
		m.estimate = largest
	}
	for i, pid := range pids {
		size := sizes[pid].tree
		if !grown[i] {
			size = max(size, m.estimate)
		}
		bytes += size
	}
	return bytes + int64(starting)*m.estimate, len(pids) + starting
}

// evict ends the session that has been idle longest; false: none is idle.
func (c *Claude) evict(used int64) bool {
	at := c.pool.takeOldest()
	if at == nil {
		return false
	}
	at.session.log.Info("ending an idle session to stay within the memory budget", "used", used, "budget", c.memory.budget)
	c.endPlaces([]*place{at})
	return true
}
