package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const (
	// tasksAtOnce is how many tasks are open while a person talks, and beginAim how soon the
	// person's turn begins at p95.
	tasksAtOnce = 50
	beginAim    = 50 * time.Millisecond
	// personPause is between what the person says.
	personPause = 100 * time.Millisecond
)

// The demo agent's scripts for workers: a turn of a second, and one of none.
const (
	steadyWorker = `[{"match": "BLOCKED:", "delay": 1000, "text": "It is done.\nDONE: all of it"}]`
	quickWorker  = `[{"match": "BLOCKED:", "text": "It is done.\nDONE: all of it"}]`
)

// tasksOpen is how long it takes from a person's message until the agent is asked, while many
// tasks are worked on.
func (b *bench) tasksOpen() error {
	d, c, drop, err := b.workplace(steadyWorker)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop(), drop()) }()
	primary, err := c.primary()
	if err != nil {
		return err
	}
	for range tasksAtOnce {
		if err := c.delegate(primary); err != nil {
			return err
		}
	}
	var began []time.Duration
	for range b.spoken {
		var accepted struct{ RunID string }
		said := time.Now()
		if err := c.post("/api/chat", map[string]string{"threadId": primary, "content": "hello"}, &accepted); err != nil {
			return err
		}
		if _, err := c.wait(accepted.RunID); err != nil {
			return err
		}
		run, err := c.run(accepted.RunID)
		if err != nil {
			return err
		}
		for _, step := range run.Steps {
			if step.Step == "invoking" {
				began = append(began, step.Timestamp.Sub(said))
			}
		}
		if err := c.keepBusy(primary); err != nil {
			return err
		}
		<-time.After(personPause)
	}
	b.row(fmt.Sprintf("a person's POST -> the agent is asked, %d tasks open", tasksAtOnce), "%s (aim p95 under %v)", spread(began), beginAim)
	b.note(figureBesideTasks, ms(quantile(began, 0.95)), "ms")
	return nil
}

// keepBusy replaces the tasks that are over.
func (c *client) keepBusy(primary string) error {
	open, err := c.openTasks()
	if err != nil {
		return err
	}
	for range tasksAtOnce - open {
		if err := c.delegate(primary); err != nil {
			return err
		}
	}
	return nil
}

// tasksOver compares what the processes hold after so many tasks, and after as many again.
func (b *bench) tasksOver() error {
	d, c, drop, err := b.workplace(quickWorker)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop(), drop()) }()
	primary, err := c.primary()
	if err != nil {
		return err
	}
	processes, err := d.processes()
	if err != nil {
		return err
	}
	var sizes [3][]float64
	began := time.Now()
	for part, until := range []int{b.tasks / 10, b.tasks / 2, b.tasks} {
		if err := c.workOff(primary, until-done(b.tasks, part)); err != nil {
			return err
		}
		sizes[part] = resident(processes)
	}
	for i, p := range processes {
		b.row(p.name, "RSS %.1f MB after %d tasks, %.1f after %d, %.1f after %d (aim: it levels off)",
			sizes[0][i], b.tasks/10, sizes[1][i], b.tasks/2, sizes[2][i], b.tasks)
	}
	b.row("tasks", "%.1f/s, each with a worker's turn and a reviewer's", float64(b.tasks)/time.Since(began).Seconds())
	return nil
}

// done is how many tasks are over before a part begins.
func done(tasks, part int) int { return [...]int{0, tasks / 10, tasks / 2}[part] }

// workOff hands on so many tasks, tasksAtOnce at a time, and waits for their ends.
func (c *client) workOff(primary string, tasks int) error {
	for handed := 0; ; {
		open, err := c.openTasks()
		if err != nil {
			return err
		}
		if handed == tasks && open == 0 {
			return nil
		}
		for range min(tasksAtOnce-open, tasks-handed) {
			if err := c.delegate(primary); err != nil {
				return err
			}
			handed++
		}
		<-time.After(50 * time.Millisecond)
	}
}

// workplace is an installation whose workers answer by a script, in which more tasks may be
// open than the plugin lets by default.
func (b *bench) workplace(script string) (d *installation, c *client, drop func() error, err error) {
	dir, err := os.MkdirTemp("", "harness-bench")
	if err != nil {
		return nil, nil, nil, err
	}
	drop = func() error { return os.RemoveAll(dir) }
	file := filepath.Join(dir, "script.json")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return nil, nil, nil, errors.Join(err, drop())
	}
	if d, err = b.start([]string{"HARNESS_DEMO_SCRIPT=" + file}); err != nil {
		return nil, nil, nil, errors.Join(err, drop())
	}
	if c, err = d.connect(); err == nil {
		err = c.set("delegation", map[string]int{"atOnce": 2 * tasksAtOnce})
		<-time.After(2 * time.Second) // until the plugin has them
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, d.stop(), drop())
	}
	return d, c, drop, nil
}

func (c *client) primary() (string, error) {
	var page struct{ Threads []struct{ ID, Kind string } }
	if err := c.read("/api/threads?kind=primary", &page); err != nil {
		return "", err
	}
	for _, thread := range page.Threads {
		if thread.Kind == "primary" {
			return thread.ID, nil
		}
	}
	return "", errors.New("there is no primary thread")
}

func (c *client) delegate(thread string) error {
	var made struct{ ID string }
	return c.post("/api/tasks", map[string]string{"threadId": thread, "text": "do the work"}, &made)
}

// openTasks is how many tasks are not over.
func (c *client) openTasks() (int, error) {
	var page struct{ Tasks []struct{ ID string } }
	err := c.read("/api/tasks?limit=1000&status=pending&status=running&status=evaluating&status=waiting", &page)
	return len(page.Tasks), err
}

// set changes a plugin's settings.
func (c *client) set(plugin string, values map[string]int) error {
	body, err := json.Marshal(map[string]any{"values": values})
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPatch, c.URL+"/api/plugins/"+plugin+"/settings", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("set the plugin %s: %s", plugin, response.Status)
	}
	return nil
}

// read decodes an answer.
func (c *client) read(path string, out any) error {
	body, err := c.get(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, out)
}
