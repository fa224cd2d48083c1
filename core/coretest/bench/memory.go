package main

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// loadThreads is how many threads are at work in the section memory under load.
const loadThreads = 32

// memoryUnderLoad compares what the processes hold after one load and after a
// second one like it: what is bounded does not go on growing.
func (b *bench) memoryUnderLoad() (err error) {
	d, err := b.start([]string{fmt.Sprintf("HARNESS_AGENTS=%d", loadThreads)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	processes, err := d.processes()
	if err != nil {
		return err
	}
	before := resident(processes)
	if err := d.volley(b.busy); err != nil {
		return err
	}
	after := resident(processes)
	if err := d.volley(b.busy); err != nil {
		return err
	}
	twice := resident(processes)
	for i, p := range processes {
		b.row(p.name, "RSS %.1f MB, %.1f after %d turns on %d threads, %.1f after %d (aim: it levels off)",
			before[i], after[i], b.busy, loadThreads, twice[i], 2*b.busy)
	}
	return nil
}

// volley is so many turns, as fast as they go.
func (d *installation) volley(turns int) error {
	var begun atomic.Int64
	_, err := d.flood(loadThreads, func() bool { return begun.Add(1) <= int64(turns) })
	return err
}

// resident is the memory of the processes once their garbage has been collected.
func resident(processes []process) []float64 {
	<-time.After(2 * time.Second)
	sizes := make([]float64, len(processes))
	for i, p := range processes {
		sizes[i], _ = p.memory()
	}
	return sizes
}
