package clienttest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// AddTask adds a task, or puts one in the place of that with its id.
func (d *Daemon) AddTask(task client.TaskHistory) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := range d.tasks {
		if d.tasks[n].Task.ID == task.Task.ID {
			d.tasks[n] = task
			return
		}
	}
	d.tasks = append(d.tasks, task)
}

// Worded returns what was said of tasks, as JSON, each after what was asked.
func (d *Daemon) Worded() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.worded)
}

// PublishTask has an event of a task broadcast in its thread, which then stands as it says.
func (d *Daemon) PublishTask(kind pluginsdk.EventType, id string, status pluginsdk.TaskStatus, detail string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := range d.tasks {
		task := &d.tasks[n].Task
		if task.ID != id {
			continue
		}
		task.Status, task.Error = status, detail
		if status.Final() {
			task.CompletedAt = time.Now()
		}
		d.publish(kind, task.ThreadID, pluginsdk.TaskPayload{TaskID: id, ThreadID: task.ThreadID, Status: status, Detail: detail})
	}
}

func (d *Daemon) listTasks(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	query := r.URL.Query()
	found := []pluginsdk.Task{}
	listed := slices.Clone(d.tasks)
	if query.Get("newest") == "true" {
		slices.Reverse(listed)
	}
	skip := query.Get("after") != ""
	for _, one := range listed {
		if !skip && matches(query.Get("thread"), one.Task.ParentThreadID) &&
			(len(query["status"]) == 0 || slices.Contains(query["status"], string(one.Task.Status))) {
			found = append(found, one.Task)
		}
		if one.Task.ID == query.Get("after") {
			skip = false
		}
	}
	reply(w, http.StatusOK, map[string]any{"tasks": found[:min(len(found), d.limit(r))]})
}

// getTask gives one answer a page, as the API does with large ones.
func (d *Daemon) getTask(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.tasks {
		if one.Task.ID != r.PathValue("id") {
			continue
		}
		after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
		rest := slices.DeleteFunc(slices.Clone(one.Answers), func(a pluginsdk.TaskAnswer) bool { return a.ID <= after })
		reply(w, http.StatusOK, map[string]any{
			"task": one.Task, "iterations": one.Iterations, "answers": rest[:min(1, len(rest))], "more": len(rest) > 1,
		})
		return
	}
	refuse(w, http.StatusNotFound, "there is no task with the id "+r.PathValue("id"))
}

// word takes what a person says of a task: it is what next makes of the task, which refuses
// when it returns words.
func (d *Daemon) word(asked string, next func(task *pluginsdk.Task) (refusal string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.worded = append(d.worded, asked+" "+string(body))
		for n := range d.tasks {
			if task := &d.tasks[n].Task; task.ID == r.PathValue("id") {
				if refusal := next(task); refusal != "" {
					refuse(w, http.StatusConflict, refusal)
					return
				}
				reply(w, http.StatusOK, task)
				return
			}
		}
		refuse(w, http.StatusNotFound, "there is no task with the id "+r.PathValue("id"))
	}
}

func cancelled(task *pluginsdk.Task) string {
	if !task.Status.Final() {
		task.Status = pluginsdk.TaskCancelled
	}
	return ""
}

func decided(task *pluginsdk.Task) string {
	if task.Status != pluginsdk.TaskWaiting {
		return "task " + task.ID + " is " + string(task.Status) + " and cannot be approved"
	}
	task.Status = pluginsdk.TaskEvaluating
	return ""
}

func retried(task *pluginsdk.Task) string {
	switch {
	case task.Status == pluginsdk.TaskWaiting:
		task.Status = pluginsdk.TaskRunning
	case task.Status.Final():
		again := *task
		again.ID, again.FromTaskID, again.Status = task.ID+"-2", task.ID, pluginsdk.TaskPending
		*task = again
	default:
		return "task " + task.ID + " is " + string(task.Status) + ": it goes on by itself"
	}
	return ""
}
