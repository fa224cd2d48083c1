package launch

import "github.com/seed-706843ae/harness/pluginsdk"

// maxTree bounds how many processes of a plugin are looked at, so that a fork
// bomb costs the host no more than that.
const maxTree = 512

// Usage is what a plugin takes of the machine, with all that it started: its
// process group, what descends from it, and what has left both but still has
// the mark of this start in its environment. Those that are in no line of
// descent are looked for only every ten seconds.
type Usage struct {
	// RSSBytes is resident memory, which counts a page once for each process
	// that shares it.
	RSSBytes int64
	// CPUSeconds, user and system, of the processes that are there and of
	// those that they have waited for. It can fall when one of them ends.
	CPUSeconds float64
	// Processes is at most 512, however many there are; the other figures are
	// then of those.
	Processes int
	// OpenFiles of the plugin's first process.
	OpenFiles int
	// Stopped: the plugin's first process does not run, by SIGSTOP or a
	// debugger.
	Stopped bool
}

// Usage measures the plugin. CodeUnavailable: its process has ended.
// CodeUnimplemented: not on this system.
func (p *Plugin) Usage() (Usage, error) { return p.process.usage() }

// Glance is what one look at a plugin's first process shows. A process whose Glance is what it was has
// hardly run since then. It is much cheaper than Usage, which reads a file for each thread.
type Glance struct {
	ticks, resident int64
	threads         int
	// Stopped is that of Usage.
	Stopped bool
}

// Glance looks at the plugin's first process. Its errors are those of Usage.
func (p *Plugin) Glance() (Glance, error) { return p.process.glance() }

func errNoProcess() error {
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "measure a plugin: its process has ended")
}
