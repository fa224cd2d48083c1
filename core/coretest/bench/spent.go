package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// spent is what a process has used since its start.
type spent struct {
	cpu      time.Duration
	switches int64 // of a thread that went to sleep or was put aside
}

// spent adds up the process's threads. (Go's end hardly ever.)
func (p process) spent() (sum spent) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.pid))
	for _, task := range tasks {
		if stat, err := os.ReadFile(task + "/schedstat"); err == nil {
			if fields := strings.Fields(string(stat)); len(fields) > 0 {
				ns, _ := strconv.ParseInt(fields[0], 10, 64)
				sum.cpu += time.Duration(ns)
			}
		}
		status, err := os.ReadFile(task + "/status")
		if err != nil {
			continue
		}
		for line := range strings.SplitSeq(string(status), "\n") {
			if name, value, _ := strings.Cut(line, ":"); strings.HasSuffix(name, "voluntary_ctxt_switches") {
				n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
				sum.switches += n
			}
		}
	}
	return sum
}

// meter is what the processes of an installation have used when it was made.
type meter struct {
	processes []process
	before    []spent
}

func (d *installation) meter() (meter, error) {
	processes, err := d.processes()
	m := meter{processes: processes}
	for _, p := range processes {
		m.before = append(m.before, p.spent())
	}
	return m, err
}

// use is what a process has used for each of the turns since a meter was made.
type use struct {
	Process  string  `json:"process"`
	CPU      float64 `json:"cpuMs"`
	Switches float64 `json:"switches"`
}

// perTurn returns the use of each process, and their sum first.
func (m meter) perTurn(turns int) []use {
	uses := []use{{Process: "all"}}
	for i, p := range m.processes {
		now := p.spent()
		one := use{
			Process:  p.name,
			CPU:      ms(now.cpu-m.before[i].cpu) / float64(turns),
			Switches: float64(now.switches-m.before[i].switches) / float64(turns),
		}
		uses = append(uses, one)
		uses[0].CPU += one.CPU
		uses[0].Switches += one.Switches
	}
	return uses
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
