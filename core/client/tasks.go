package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// TaskHistory is a task with what has become of it.
type TaskHistory struct {
	Task       pluginsdk.Task            `json:"task"`
	Iterations []pluginsdk.TaskIteration `json:"iterations"`
	Answers    []pluginsdk.TaskAnswer    `json:"answers"` // oldest first
}

// Tasks returns all the selected tasks, without what of them can be long. The query's Limit
// and After are not used.
func (c *Client) Tasks(ctx context.Context, query pluginsdk.TaskQuery) ([]pluginsdk.Task, error) {
	var all []pluginsdk.Task
	values := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for name, value := range map[string]string{
		"thread": query.ParentThreadID, "parent": query.ParentTaskID, "in": query.ThreadID, "plugin": query.Plugin,
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for _, status := range query.Statuses {
		values.Add("status", string(status))
	}
	if query.Newest {
		values.Set("newest", "true")
	}
	for {
		var page struct {
			Tasks []pluginsdk.Task `json:"tasks"`
		}
		if err := c.get(ctx, "/api/tasks", values, &page); err != nil {
			return nil, err
		}
		if len(page.Tasks) == 0 {
			return all, nil
		}
		all = append(all, page.Tasks...)
		values.Set("after", page.Tasks[len(page.Tasks)-1].ID)
	}
}

// TaskID returns the id of the task that an id or a part of one names: its first or last
// characters.
func (c *Client) TaskID(ctx context.Context, part string) (string, error) {
	if whole, err := wholeOr(part, "task"); whole || err != nil {
		return part, err
	}
	tasks, err := c.Tasks(ctx, pluginsdk.TaskQuery{Newest: true})
	if err != nil {
		return "", err
	}
	ids := make([]string, len(tasks))
	for n, task := range tasks {
		ids[n] = task.ID
	}
	return OneOf(part, "task", ids)
}

// Task returns a task with all that has become of it.
func (c *Client) Task(ctx context.Context, id string) (TaskHistory, error) {
	var whole TaskHistory
	values := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for {
		var page struct {
			TaskHistory
			More bool `json:"more"`
		}
		if err := c.get(ctx, "/api/tasks/"+url.PathEscape(id), values, &page); err != nil {
			return whole, err
		}
		whole.Task, whole.Iterations = page.Task, page.Iterations
		whole.Answers = append(whole.Answers, page.Answers...)
		if !page.More || len(page.Answers) == 0 {
			return whole, nil
		}
		values.Set("after", strconv.FormatInt(page.Answers[len(page.Answers)-1].ID, 10))
	}
}

// TaskWord is what a person says of a task.
type TaskWord struct {
	Verdict   pluginsdk.Verdict `json:"verdict"`
	Iteration int               `json:"iteration,omitempty"` // that they have seen; 0: any
	Feedback  string            `json:"feedback,omitempty"`
}

// DecideTask hands a person's word in on a task that waits.
func (c *Client) DecideTask(ctx context.Context, id string, word TaskWord) (pluginsdk.Task, error) {
	var task pluginsdk.Task
	err := c.post(ctx, "/api/tasks/"+url.PathEscape(id)+"/decide", word, &task)
	return task, err
}

// CancelTask ends a task; one that is over stays as it is.
func (c *Client) CancelTask(ctx context.Context, id, reason string) (pluginsdk.Task, error) {
	request := struct {
		Reason string `json:"reason,omitempty"`
	}{reason}
	var task pluginsdk.Task
	err := c.post(ctx, "/api/tasks/"+url.PathEscape(id)+"/cancel", request, &task)
	return task, err
}

// TaskRetry says what is to be done now.
type TaskRetry struct {
	Text      string `json:"text,omitempty"`
	Iteration int    `json:"iteration,omitempty"` // that was seen, of a task that waits; 0: any
	// IdempotencyKey makes it safe to repeat for a task that is over.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
}

// RetryTask has a task that waits go on, or another go on from one that is over, and
// returns the one that goes on.
func (c *Client) RetryTask(ctx context.Context, id string, retry TaskRetry) (pluginsdk.Task, error) {
	var task pluginsdk.Task
	err := c.post(ctx, "/api/tasks/"+url.PathEscape(id)+"/retry", retry, &task)
	return task, err
}
