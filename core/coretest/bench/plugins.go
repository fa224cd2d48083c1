package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// startedPlugins is how many plugins the section plugins starts.
	startedPlugins = 12
	// startAim is how long that may take, at p50.
	startAim = 500 * time.Millisecond
)

// startPlugins is from the start of the daemon's process until the last of its
// plugins serves: the shipped ones and copies of the subject.
func (b *bench) startPlugins() (err error) {
	dir, err := os.MkdirTemp("", "harness-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plugins := filepath.Join(dir, "bin")
	names, err := fillPlugins(plugins)
	if err != nil {
		return err
	}
	d := newInstallation(filepath.Join(b.bin, "harness"), filepath.Join(dir, "data"))
	env := []string{"HARNESS_PLUGINS=" + plugins, "HARNESS_LOG_LEVEL=debug"}
	if err := d.up(env); err != nil {
		return err
	}
	for _, name := range names {
		if err := d.operate("enable", name); err != nil {
			return errors.Join(err, d.Kill())
		}
	}
	if err := d.Down(); err != nil {
		return err
	}
	var all, first []time.Duration
	split := make(map[string][]time.Duration)
	for range b.starts {
		times, err := d.startOnce(env, names, split)
		if err != nil {
			return err
		}
		first, all = append(first, times[0]), append(all, times[len(times)-1])
	}
	b.row(fmt.Sprintf("start -> first of %d plugins serves", startedPlugins), "%s", spread(first))
	b.row(fmt.Sprintf("start -> all of %d plugins serve", startedPlugins), "%s (aim p50 %v)", spread(all), startAim)
	b.row("processor time of all processes until then", "%s", spread(split["CPU"]))
	for _, part := range []string{"verify", "launch", "start"} {
		b.row("of each plugin's start: "+part, "%s", spread(split[part]))
	}
	return nil
}

// fillPlugins makes a directory with the shipped plugins and copies of the
// subject, and returns the names of all.
func fillPlugins(dir string) (names []string, err error) {
	shipped, err := filepath.Glob(filepath.Join("bin", "plugins", "*"))
	if err != nil {
		return nil, err
	}
	path, err := buildSubject(dir, subjectName, "1.0.0")
	if err != nil {
		return nil, err
	}
	from := make(map[string]string)
	for _, path := range shipped {
		from[filepath.Base(path)] = path
	}
	for n := 1; len(from) < startedPlugins; n++ {
		from[fmt.Sprintf("%s-%d", subjectName, n)] = path
	}
	for name, source := range from {
		content, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o700); err != nil { //nolint:gosec // it is an executable
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(from)), os.Remove(path)
}

// serving is the line of the daemon's log that says that a plugin serves.
var (
	serving  = regexp.MustCompile(`time=(\S+) .*msg="plugin serves"`)
	standing = regexp.MustCompile(`msg="plugin was started" .*`)
	took     = regexp.MustCompile(`(\w+)=([0-9.]+(?:ns|µs|ms|s))`)
)

// startOnce starts the daemon and returns, in order, when after that its plugins
// began to serve, by the times in its log.
func (d *installation) startOnce(env, names []string, split map[string][]time.Duration) (times []time.Duration, err error) {
	if err := d.up(env); err != nil {
		return nil, err
	}
	c, err := d.connect()
	if err != nil {
		return nil, errors.Join(err, d.Kill())
	}
	err = c.serves(names...)
	_ = c.socket.Close()
	processes, failed := d.processes()
	var spent time.Duration
	for _, process := range processes {
		spent += process.cpu()
	}
	err = errors.Join(err, failed)
	if err := errors.Join(err, d.Down()); err != nil {
		return nil, err
	}
	split["CPU"] = append(split["CPU"], spent)
	for line := range strings.Lines(d.Log.String()) {
		if found := serving.FindStringSubmatch(line); found != nil {
			at, err := time.Parse(time.RFC3339Nano, found[1])
			if err != nil {
				return nil, err
			}
			times = append(times, at.Sub(d.Began.Round(0)))
		}
		for _, part := range took.FindAllStringSubmatch(standing.FindString(line), -1) {
			length, err := time.ParseDuration(part[2])
			if err != nil {
				return nil, err
			}
			split[part[1]] = append(split[part[1]], length)
		}
	}
	if len(times) != startedPlugins {
		return nil, fmt.Errorf("%d plugins began to serve; want %d; log:\n%s", len(times), startedPlugins, d.Log.String())
	}
	slices.Sort(times)
	return times, nil
}
