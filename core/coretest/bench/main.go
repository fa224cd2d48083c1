// Command bench measures an installation from outside and prints a table: boot,
// memory, idle load, hook hops, warm turns, throughput, cancelling, recovery,
// and what a full database changes. Every figure is taken on this machine in
// this run; compare ratios, not machines. It ends with what a turn was to cost, met or
// missed, and with what is worse than in the figures of the last release.
//
// It wants bin/harness and bin/plugins (make build). With HARNESS_TEST_CLAUDE
// and HARNESS_TEST_POSTGRES (.ci/test-env sets both) it measures the real agent
// and Postgres as well, and otherwise says what it left out.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	quick := flag.Bool("quick", false, "fewer repetitions: a look, not a measurement")
	only := flag.String("only", "", "run just the sections whose name contains this")
	other := flag.String("beside", "", "directory of another build's harness and plugins/, to be measured in alternation")
	save := flag.String("save", "", "file that gets the figures that aims are set for, as JSON")
	bin := flag.String("bin", "bin", "directory of harness and plugins/")
	out := flag.String("o", "", "file that gets the trace of a turn, as JSON")
	if file := os.Getenv(tracedFile); file != "" && len(os.Args) > 3 {
		if err := runTraced(file, os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, "bench: traced daemon:", err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	b := &bench{other: *other, out: *out, save: *save, bin: *bin, noted: newBook(*bin), claude: os.Getenv("HARNESS_TEST_CLAUDE"), postgres: os.Getenv("HARNESS_TEST_POSTGRES")}
	b.boots, b.turns, b.load = 15, 400, 6*time.Second
	b.cancels, b.kills, b.pages, b.volume, b.busy = 100, 10, 200, million(), 2000
	b.calls, b.changing, b.starts = 20_000, time.Minute, 10
	b.tasks, b.spoken, b.searching = 1000, 200, 25
	b.shown, b.asked, b.opens, b.words = crowded(), 100, 20, 2000
	b.talks, b.hush = 50, 5*time.Minute
	if *quick {
		b.boots, b.turns, b.load = 3, 50, time.Second
		b.cancels, b.kills, b.pages, b.volume, b.busy = 20, 3, 50, million().part(10), 400
		b.calls, b.changing, b.starts = 4_000, 15*time.Second, 3
		b.tasks, b.spoken, b.searching = 100, 30, 8
		b.shown, b.asked, b.opens, b.words = crowded().part(10), 20, 4, 400
		b.talks, b.hush = 10, 20*time.Second
	}
	if err := b.run(*only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type bench struct {
	claude, postgres string
	other            string // directory of another build; empty: none is measured
	bin              string // directory of the build
	out              string // file of the trace; empty: none
	save             string // file of the figures; empty: none
	noted            book
	boots, turns     int
	load             time.Duration
	cancels, kills   int
	searching        int           // queries of each kind in the section search
	pages            int           // requests of each kind in the section scale
	volume           volume        // of the full database there
	busy             int           // turns of the section memory under load
	calls            int           // of each kind in the section hop
	changing         time.Duration // each load of the section upgrade
	starts           int           // of the section plugins
	shown            volume        // of the database in the section pages
	asked, opens     int           // of that section: requests of each kind, and times that a page is opened
	words            int           // of that section: what the agent says
	talks            int           // of the section discord: messages that are answered
	hush             time.Duration // each time that nothing is said, there and in the section memory and idle load
	tasks, spoken    int           // of the sections about tasks: how many tasks, and messages of a person
	table            *tabwriter.Writer
}

func (b *bench) run(only string) error {
	b.table = tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	var failed []error
	for _, section := range []struct {
		name    string
		measure func() error
	}{
		{"boot", b.boot},
		{"memory and idle load", b.idle},
		{"hook hop", b.hops},
		{"hop with grants and figures", b.hop},
		{"plugins, start of 12", b.startPlugins},
		{"upgrade and toggle under load, demo agent", b.upgrade},
		{"warm turn, demo agent", b.demoTurns},
		{"warm turn, real CLI on a fake API", b.claudeTurns},
		{"throughput, demo agent", b.throughput},
		{"cancel, real CLI on a fake API", b.cancel},
		{"recovery after kill -9, demo agent", b.recovery},
		{"memory under load, demo agent", b.memoryUnderLoad},
		{"a person beside 50 tasks, demo agent", b.tasksOpen},
		{"memory over tasks, demo agent", b.tasksOver},
		{"a crowd of 100 clients", b.crowd},
		{"scale, demo agent", b.scale},
		{"pages of the dashboard", b.dashboard},
		{"discord, demo agent", b.discord},
		{"search", b.searches},
		{"turns beside the search index, demo agent", b.indexing},
		{"trace of a turn", b.traces},
		{"turns beside another build, demo agent", b.beside},
	} {
		if !strings.Contains(section.name, only) {
			continue
		}
		fmt.Fprintf(b.table, "\n%s\n", strings.ToUpper(section.name))
		if err := section.measure(); err != nil { // the others' figures are not lost for it
			fmt.Fprintf(b.table, "  failed: %s\n", err)
			failed = append(failed, fmt.Errorf("%s: %w", section.name, err))
		}
		if err := b.table.Flush(); err != nil {
			return err
		}
	}
	if err := b.close(); err != nil {
		return err
	}
	return errors.Join(append(failed, b.table.Flush())...)
}

func (b *bench) row(name, format string, args ...any) {
	fmt.Fprintf(b.table, "  %s\t%s\n", name, fmt.Sprintf(format, args...))
}

// boot is from the start of the process to the first healthy answer.
func (b *bench) boot() error {
	var times []time.Duration
	for range b.boots {
		d, err := b.start(nil)
		if err != nil {
			return err
		}
		times = append(times, d.Boot)
		if err := d.stop(); err != nil {
			return err
		}
	}
	b.row("start to healthy, all shipped plugins", "%s", spread(times))
	b.note(figureBoot, ms(quantile(times, 0.5)), "ms")
	return nil
}

func (b *bench) idle() error {
	d, err := b.start(nil)
	if err != nil {
		return err
	}
	defer d.stop()                 //nolint:errcheck // measured already
	<-time.After(10 * time.Second) // what a start leaves behind is not what is asked for
	processes, err := d.processes()
	if err != nil {
		return err
	}
	before := make([]time.Duration, len(processes))
	for i, p := range processes {
		before[i] = p.cpu()
	}
	<-time.After(b.hush)
	memory, idle := 0.0, 0.0
	for i, p := range processes {
		rss, pss := p.memory()
		share := 100 * float64(p.cpu()-before[i]) / float64(b.hush)
		memory, idle = memory+pss, idle+share
		b.row(p.name, "RSS %.1f MB, PSS %.1f MB, idle %.2f %% of a core", rss, pss, share)
	}
	b.row("all", "PSS %.1f MB, idle %.2f %% of a core", memory, idle)
	b.note(figureMemory, memory, "MB")
	b.note(figureIdle, idle, "%")
	return nil
}

// hops takes the figures of the SDK's own benchmarks.
func (b *bench) hops() error {
	output, err := exec.Command("go", "test", "-run", "^$", "-bench", "HookHop|BareGRPC", "-benchtime", "2s",
		"./pluginsdk/launch").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	for line := range strings.SplitSeq(string(output), "\n") {
		if fields := strings.Fields(line); len(fields) > 3 && strings.HasPrefix(line, "Benchmark") {
			b.row(strings.TrimPrefix(fields[0], "Benchmark"), "%s", strings.Join(fields[2:], " "))
		}
	}
	return nil
}

func (b *bench) demoTurns() error {
	for _, database := range b.databases() {
		if err := b.demoTurnsOn(database); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) demoTurnsOn(database database) (err error) {
	d, err := b.start(database.env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	s, err := d.sequence()
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.turns(warmUp); err != nil {
		return err
	}
	s.times = stopwatch{}
	used, err := d.meter()
	if err != nil {
		return err
	}
	if err := s.turns(b.turns); err != nil {
		return err
	}
	all := used.perTurn(b.turns)[0]
	b.row(database.name+": CPU and context switches of a turn", "%.2f ms, %.0f", all.CPU, all.Switches)
	b.note(figureCPU(database.name), all.CPU, "ms")
	b.note(figureCommitted(database.name), ms(quantile(s.times.committed, 0.5)), "ms")
	b.row(database.name+": POST -> 202", "%s", spread(s.times.accepted))
	b.row(database.name+": POST -> reply committed", "%s", spread(s.times.committed))
	b.row(database.name+": POST -> websocket complete", "%s", spread(s.times.complete))
	return nil
}

func (b *bench) throughput() error {
	for _, database := range b.databases() {
		d, err := b.start(append(database.env, "HARNESS_AGENTS=32"))
		if err != nil {
			return err
		}
		for _, threads := range []int{1, 4, 8, 32} {
			began := time.Now()
			rate, err := d.flood(threads, func() bool { return time.Since(began) < b.load })
			if err != nil {
				return err
			}
			b.row(fmt.Sprintf("%s, %d threads", database.name, threads), "%.0f turns/s", rate)
			if threads == 8 {
				b.note(figureRate(database.name), rate, "turns/s")
			}
		}
		if err := d.stop(); err != nil {
			return err
		}
	}
	return nil
}
