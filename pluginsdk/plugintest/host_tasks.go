package plugintest

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// tasks makes the transitions that the contract describes, guarded by the
// status that each leaves. It fires no hooks: a test plays the gate with Judge.
type tasks struct{ view }

// AddTask puts a task into the host.
func (h *Host) AddTask(task pluginsdk.Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks = append(h.tasks, task)
}

func taskID(t pluginsdk.Task) string { return t.ID }

func (s tasks) Create(ctx context.Context, request *pluginsdk.CreateTaskRequest) (*pluginsdk.CreateTaskResponse, error) {
	leave, err := s.h.enter(ctx, "Tasks.Create")
	if err != nil {
		return nil, err
	}
	defer leave()
	if _, known := s.h.made[s.key("task", request.Key)]; !known {
		if err := s.goesOn(request.Task.FromTaskID); err != nil {
			return nil, err
		}
	}
	id, existed := "", false
	if request.Key == "" {
		id = s.create(request)
	} else if id, existed, err = once(s.h, s.key("task", request.Key), request.Task, func() string { return s.create(request) }); err != nil {
		return nil, err
	}
	i, err := find(s.h.tasks, "task", id, taskID)
	if err != nil {
		return nil, err
	}
	return &pluginsdk.CreateTaskResponse{Task: s.h.tasks[i], Existed: existed}, nil
}

// goesOn refuses to go on from a task that is not the plugin's, or in whose thread one is
// not over.
func (s tasks) goesOn(fromID string) error {
	if fromID == "" {
		return nil
	}
	i, err := find(s.h.tasks, "task", fromID, taskID)
	if err != nil {
		return err
	}
	from := s.h.tasks[i]
	if from.Plugin != s.manifest.Name {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "fromTaskId: task %s is of the plugin %s, which alone goes on from it", from.ID, from.Plugin)
	}
	for _, task := range s.h.tasks {
		if task.ThreadID == from.ThreadID && !task.Status.Final() {
			return pluginsdk.Errorf(pluginsdk.CodeStale, "fromTaskId: task %s, in the same thread, is %s and not over yet", task.ID, task.Status)
		}
	}
	return nil
}

func (s tasks) create(request *pluginsdk.CreateTaskRequest) string {
	task := request.Task
	t := pluginsdk.Task{
		ID: s.h.nextID("task"), ThreadID: s.h.nextID("thread"), ParentThreadID: task.ParentThreadID,
		ParentTaskID: task.ParentTaskID, Plugin: s.manifest.Name, Key: request.Key, Status: pluginsdk.TaskRunning,
		OriginalMessage: task.OriginalMessage, Prompt: task.Prompt, Model: task.Model, PermissionMode: task.PermissionMode,
		AllowedTools: task.AllowedTools, Cwd: task.Cwd, Labels: task.Labels, RequestedBy: task.RequestedBy, Wake: task.Wake,
		FromTaskID:              task.FromTaskID,
		Account:                 task.Account,
		OwnDirectory:            task.OwnDirectory && task.Cwd == "",
		MaxIterations:           cmp.Or(task.MaxIterations, 5),
		MaxValidationIterations: cmp.Or(task.MaxValidationIterations, 3),
		CostCapUSD:              cmp.Or(task.CostCapUSD, 5),
		CreatedAt:               now(),
	}
	if i, err := find(s.h.tasks, "task", task.ParentTaskID, taskID); err == nil {
		t.Depth = s.h.tasks[i].Depth + 1
	}
	if i, err := find(s.h.tasks, "task", task.FromTaskID, taskID); err == nil {
		from := s.h.tasks[i]
		t.ThreadID, t.Cwd, t.Account = from.ThreadID, cmp.Or(task.Cwd, from.Cwd), cmp.Or(task.Account, from.Account)
		t.ParentThreadID, t.ParentTaskID = cmp.Or(t.ParentThreadID, from.ParentThreadID), cmp.Or(t.ParentTaskID, from.ParentTaskID)
		s.h.tasks = append(s.h.tasks, t)
		return t.ID
	}
	if i, err := find(s.h.threads, "thread", t.ParentThreadID, threadID); err == nil {
		t.Account = cmp.Or(t.Account, s.h.threads[i].Account)
	}
	s.h.tasks = append(s.h.tasks, t)
	s.h.threads = append(s.h.threads, pluginsdk.Thread{
		ID: t.ThreadID, Source: "task", SourceID: t.ID, Kind: pluginsdk.ThreadTask, Cwd: t.Cwd, Account: t.Account,
		ParentThreadID: t.ParentThreadID, Status: pluginsdk.ThreadActive, CreatedAt: t.CreatedAt,
	})
	return t.ID
}

func (s tasks) Get(ctx context.Context, request *pluginsdk.GetTaskRequest) (*pluginsdk.GetTaskResponse, error) {
	task, err := s.change(ctx, "Tasks.Get", request.ID, func(*pluginsdk.Task) error { return nil })
	return &pluginsdk.GetTaskResponse{Task: task}, err
}

func (s tasks) List(ctx context.Context, request *pluginsdk.ListTasksRequest) (*pluginsdk.ListTasksResponse, error) {
	leave, err := s.h.enter(ctx, "Tasks.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	query := request.Query
	rest := after(ordered(s.h.tasks, query.Newest), func(t pluginsdk.Task) bool { return t.ID == query.After })
	return &pluginsdk.ListTasksResponse{Tasks: page(filter(rest, func(t pluginsdk.Task) bool {
		return (query.Plugin == "" || t.Plugin == query.Plugin) &&
			(query.ParentThreadID == "" || t.ParentThreadID == query.ParentThreadID) &&
			(query.ParentTaskID == "" || t.ParentTaskID == query.ParentTaskID) &&
			(query.ThreadID == "" || t.ThreadID == query.ThreadID) &&
			(query.EndedAfter.IsZero() || t.CompletedAt.After(query.EndedAfter)) &&
			(len(query.Statuses) == 0 || slices.Contains(query.Statuses, t.Status))
	}), query.Limit)}, nil
}

// History has what the iterations came to, what people have decided, and what AddTaskAnswer was
// told.
func (s tasks) History(ctx context.Context, request *pluginsdk.TaskHistoryRequest) (*pluginsdk.TaskHistoryResponse, error) {
	leave, err := s.h.enter(ctx, "Tasks.History")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.tasks, "task", request.ID, taskID)
	if err != nil {
		return nil, err
	}
	var history pluginsdk.TaskHistoryResponse
	for n := 1; n <= s.h.tasks[i].CurrentIteration; n++ {
		if at := slices.IndexFunc(s.h.owns[request.ID], func(own pluginsdk.TaskIteration) bool { return own.Iteration == n }); at >= 0 {
			history.Iterations = append(history.Iterations, s.h.owns[request.ID][at])
			continue
		}
		accepted, _ := s.h.made[iterationKey(request.ID, n)].result.(pluginsdk.Accepted)
		if at, err := find(s.h.runs, "run", accepted.RunID, func(r pluginsdk.Run) string { return r.ID }); err == nil {
			run := s.h.runs[at]
			history.Iterations = append(history.Iterations, pluginsdk.TaskIteration{
				Iteration: n, RunID: run.ID, State: run.State, Error: run.Error, CostUSD: run.CostUSD, NotionalUSD: run.NotionalUSD, CostUnsure: run.CostUnsure, QueuedAt: run.QueuedAt, FinishedAt: run.FinishedAt,
			})
		}
	}
	for _, answer := range s.h.answers[request.ID] {
		if answer.ID > request.After {
			history.Answers = append(history.Answers, answer)
		}
	}
	if limit := cmp.Or(request.Limit, 1000); len(history.Answers) > limit {
		history.Answers, history.More = history.Answers[:limit], true
	}
	return &history, nil
}

// AddTaskAnswer puts what somebody has said of a task into its history, with the next id.
func (h *Host) AddTaskAnswer(taskID string, answer pluginsdk.TaskAnswer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addAnswer(taskID, answer)
}

func (h *Host) addAnswer(taskID string, answer pluginsdk.TaskAnswer) {
	answer.ID = int64(len(h.answers[taskID]) + 1)
	h.answers[taskID] = append(h.answers[taskID], answer)
}

// change makes one transition, all or nothing.
func (s tasks) change(ctx context.Context, method, id string, do func(*pluginsdk.Task) error) (pluginsdk.Task, error) {
	leave, err := s.h.enter(ctx, method)
	if err != nil {
		return pluginsdk.Task{}, err
	}
	defer leave()
	return s.h.changeTask(id, do)
}

func (h *Host) changeTask(id string, do func(*pluginsdk.Task) error) (pluginsdk.Task, error) {
	i, err := find(h.tasks, "task", id, taskID)
	if err != nil {
		return pluginsdk.Task{}, err
	}
	task := h.tasks[i]
	if err := do(&task); err != nil {
		return pluginsdk.Task{}, err
	}
	h.tasks[i] = task
	return task, nil
}

// from refuses a transition that leaves another status.
func from(task *pluginsdk.Task, what string, statuses ...pluginsdk.TaskStatus) error {
	if !slices.Contains(statuses, task.Status) {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "task %s is %s and cannot be %s", task.ID, task.Status, what)
	}
	return nil
}

func (s tasks) Iterate(ctx context.Context, request *pluginsdk.IterateTaskRequest) (*pluginsdk.IterateTaskResponse, error) {
	answer := &pluginsdk.IterateTaskResponse{}
	task, err := s.change(ctx, "Tasks.Iterate", request.ID, func(task *pluginsdk.Task) (err error) {
		answer.Accepted, err = s.iterate(task, request)
		return err
	})
	answer.Task = task
	return answer, err
}

func iterationKey(id string, iteration int) string {
	return "iteration " + id + "/" + strconv.Itoa(iteration)
}

func (s tasks) iterate(task *pluginsdk.Task, request *pluginsdk.IterateTaskRequest) (accepted pluginsdk.Accepted, err error) {
	key := iterationKey(task.ID, request.Iteration)
	if request.Own && (request.Content != "" || len(request.DisallowedTools) > 0) {
		return accepted, pluginsdk.Errorf(pluginsdk.CodeInvalid, "content, disallowedTools: must be empty with own: nothing is submitted")
	}
	if before, known := s.h.made[key]; known {
		accepted = before.result.(pluginsdk.Accepted)
		accepted.Existed = accepted.RunID != ""
		return accepted, nil
	}
	if err := from(task, "iterated", pluginsdk.TaskRunning); err != nil {
		return accepted, err
	}
	switch {
	case request.Iteration != task.CurrentIteration+1:
		return accepted, pluginsdk.Errorf(pluginsdk.CodeInvalid, "iteration %d: task %s is at its iteration %d", request.Iteration, task.ID, task.CurrentIteration)
	case request.Iteration > task.MaxIterations:
		return accepted, pluginsdk.Errorf(pluginsdk.CodeExhausted, "task %s has had its %d iterations", task.ID, task.MaxIterations)
	}
	for payer := *task; !request.Own; {
		if payer.CostUSD >= payer.CostCapUSD {
			return accepted, pluginsdk.Errorf(pluginsdk.CodeExhausted, "task %s has cost %.2f USD of %.2f", payer.ID, payer.CostUSD, payer.CostCapUSD)
		}
		n, err := find(s.h.tasks, "task", payer.ParentTaskID, taskID)
		if err != nil {
			break
		}
		payer = s.h.tasks[n]
	}
	s.h.leaveOwn(task.ID, pluginsdk.RunSucceeded)
	if request.Own {
		s.h.owns[task.ID] = append(s.h.owns[task.ID], pluginsdk.TaskIteration{
			Iteration: request.Iteration, Own: true, State: pluginsdk.RunRunning, QueuedAt: now(),
		})
	} else {
		submission := pluginsdk.Submission{ThreadID: task.ThreadID, Source: "task", Key: key, Content: request.Content}
		if len(request.DisallowedTools) > 0 {
			submission.Options = &pluginsdk.RunOptions{DisallowedTools: request.DisallowedTools}
		}
		accepted = s.h.accept(s.manifest.Name, submission)
	}
	s.h.made[key] = made{result: accepted}
	task.CurrentIteration, task.RunID = request.Iteration, accepted.RunID
	return accepted, nil
}

// leaveOwn ends the iteration that a task is at, if it is the plugin's own and has not ended.
func (h *Host) leaveOwn(id string, state pluginsdk.RunState) {
	if last := len(h.owns[id]) - 1; last >= 0 && h.owns[id][last].FinishedAt.IsZero() {
		h.owns[id][last].State, h.owns[id][last].FinishedAt = state, now()
	}
}

// settle is how Evaluate and Suspend leave an iteration behind: once.
func (s tasks) settle(task *pluginsdk.Task, what string, iteration int, do func()) error {
	if iteration > 0 && iteration <= s.h.settled[task.ID] {
		return nil
	}
	if err := from(task, what, pluginsdk.TaskRunning); err != nil {
		return err
	}
	if iteration != task.CurrentIteration || iteration == 0 {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "iteration %d: task %s is at its iteration %d", iteration, task.ID, task.CurrentIteration)
	}
	s.h.settled[task.ID] = iteration
	s.h.leaveOwn(task.ID, pluginsdk.RunSucceeded)
	do()
	return nil
}

func (s tasks) Evaluate(ctx context.Context, request *pluginsdk.EvaluateTaskRequest) (*pluginsdk.EvaluateTaskResponse, error) {
	task, err := s.change(ctx, "Tasks.Evaluate", request.ID, func(task *pluginsdk.Task) error {
		return s.settle(task, "evaluated", request.Iteration, func() {
			task.Status, task.Result, task.Feedback = pluginsdk.TaskEvaluating, request.Result, ""
		})
	})
	return &pluginsdk.EvaluateTaskResponse{Task: task}, err
}

func (s tasks) Suspend(ctx context.Context, request *pluginsdk.SuspendTaskRequest) (*pluginsdk.SuspendTaskResponse, error) {
	task, err := s.change(ctx, "Tasks.Suspend", request.ID, func(task *pluginsdk.Task) error {
		return s.settle(task, "suspended", request.Iteration, func() {
			task.Status, task.Error, task.Feedback, task.Result = pluginsdk.TaskWaiting, request.Reason, "", request.Result
			if request.Mark != "" && !slices.Contains(task.Marks, request.Mark) {
				task.Marks = append(slices.Clone(task.Marks), request.Mark)
			}
		})
	})
	return &pluginsdk.SuspendTaskResponse{Task: task}, err
}

func (s tasks) Decide(ctx context.Context, request *pluginsdk.DecideTaskRequest) (*pluginsdk.DecideTaskResponse, error) {
	task, err := s.change(ctx, "Tasks.Decide", request.ID, func(task *pluginsdk.Task) error {
		by, err := s.wordOf(ctx, task, request.Author)
		if err != nil {
			return err
		}
		switch request.Verdict {
		case "", pluginsdk.VerdictAccept, pluginsdk.VerdictReject:
		default:
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "verdict: %.50q is not one of accept, reject and none", request.Verdict)
		}
		if request.Iteration != 0 && request.Iteration != task.CurrentIteration {
			return pluginsdk.Errorf(pluginsdk.CodeStale, "task %s is %s at its iteration %d, not at %d: look at that one first",
				task.ID, task.Status, task.CurrentIteration, request.Iteration)
		}
		if err := from(task, "decided on", pluginsdk.TaskWaiting); err != nil {
			return err
		}
		if request.Verdict == pluginsdk.VerdictAccept && task.Result == "" {
			return pluginsdk.Errorf(pluginsdk.CodeStale, "task %s has no result of its iteration %d: there is nothing to accept; say go on, or have it failed",
				task.ID, task.CurrentIteration)
		}
		if request.CostCapUSD != 0 {
			if !(request.CostCapUSD > task.CostUSD) || math.IsInf(request.CostCapUSD, 0) || request.Verdict == pluginsdk.VerdictAccept {
				return pluginsdk.Errorf(pluginsdk.CodeInvalid, "costCapUsd: must be more than the %.2f USD that task %s has cost so far, and not with %s; got %v",
					task.CostUSD, task.ID, pluginsdk.VerdictAccept, request.CostCapUSD)
			}
			task.CostCapUSD = request.CostCapUSD
		}
		task.Marks = nil // why it waited is settled
		decide(task, request.Verdict, request.Feedback)
		s.h.addAnswer(task.ID, pluginsdk.TaskAnswer{
			Iteration: task.CurrentIteration, Hook: pluginsdk.HookTaskComplete, Plugin: by.Plugin, Author: cmp.Or(by.Author, "a person"),
			Answer: string(request.Verdict), Feedback: request.Feedback, At: now(), Origin: by.Origin,
		})
		return nil
	})
	return &pluginsdk.DecideTaskResponse{Task: task}, err
}

// decide is what a verdict does to a task.
func decide(task *pluginsdk.Task, verdict pluginsdk.Verdict, feedback string) {
	task.Error, task.Feedback = "", ""
	if verdict == pluginsdk.VerdictAccept {
		task.Status, task.CompletedAt = pluginsdk.TaskCompleted, now()
		return
	}
	task.Status, task.Feedback = pluginsdk.TaskRunning, feedback
}

// Judge answers for the gate that a task that is evaluated must pass, and returns
// the task. An answer without a verdict leaves it as it is: the core would ask
// again. With VerdictWait it waits for a person. One that is rejected as often as it may be has failed. A task that is not
// evaluated is a mistake of the test and panics.
func (h *Host) Judge(id string, answer pluginsdk.OnTaskCompleteResponse) pluginsdk.Task {
	h.mu.Lock()
	defer h.mu.Unlock()
	task, err := h.changeTask(id, func(task *pluginsdk.Task) error {
		if err := from(task, "judged", pluginsdk.TaskEvaluating); err != nil || answer.Verdict == "" {
			return err
		}
		if answer.Verdict == pluginsdk.VerdictWait {
			task.Status, task.Error, task.Marks = pluginsdk.TaskWaiting, answer.Feedback, append(slices.Clone(task.Marks), answer.Marks...)
			return nil
		}
		decide(task, answer.Verdict, answer.Feedback)
		if answer.Verdict == pluginsdk.VerdictAccept {
			task.Marks = append(slices.Clone(task.Marks), answer.Marks...)
		}
		if answer.Verdict == pluginsdk.VerdictReject {
			if task.ValidationIterations++; task.ValidationIterations >= task.MaxValidationIterations {
				task.Status, task.Error, task.CompletedAt = pluginsdk.TaskFailed, "rejected: "+answer.Feedback, now()
			}
		}
		return nil
	})
	if err != nil {
		panic("Judge: " + err.Error())
	}
	return task
}

func (s tasks) Fail(ctx context.Context, request *pluginsdk.FailTaskRequest) (*pluginsdk.FailTaskResponse, error) {
	task, err := s.change(ctx, "Tasks.Fail", request.ID, func(task *pluginsdk.Task) error {
		if task.Status == pluginsdk.TaskFailed {
			return nil
		}
		if err := from(task, "given up", pluginsdk.TaskPending, pluginsdk.TaskRunning, pluginsdk.TaskEvaluating, pluginsdk.TaskWaiting); err != nil {
			return err
		}
		task.Status, task.Error, task.CompletedAt = pluginsdk.TaskFailed, request.Reason, now()
		s.h.leaveOwn(task.ID, pluginsdk.RunFailed)
		return nil
	})
	return &pluginsdk.FailTaskResponse{Task: task}, err
}

// Cancel leaves a task that is over as it is.
func (s tasks) Cancel(ctx context.Context, request *pluginsdk.CancelTaskRequest) (*pluginsdk.CancelTaskResponse, error) {
	task, err := s.change(ctx, "Tasks.Cancel", request.ID, func(task *pluginsdk.Task) error {
		if !task.Status.Final() {
			task.Status, task.Error, task.CompletedAt = pluginsdk.TaskCancelled, request.Reason, now()
			s.h.leaveOwn(task.ID, pluginsdk.RunCancelled)
		}
		return nil
	})
	return &pluginsdk.CancelTaskResponse{Task: task}, err
}
