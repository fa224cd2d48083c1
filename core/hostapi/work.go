package hostapi

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

type tasks struct{ *caller }

func (s tasks) Create(ctx context.Context, request *pluginsdk.CreateTaskRequest) (*pluginsdk.CreateTaskResponse, error) {
	return serve(s.caller, "Tasks.Create", func() (*pluginsdk.CreateTaskResponse, error) {
		if err := checkKey(request.Key); err != nil {
			return nil, err
		}
		if err := checkTask(request.Task); err != nil {
			return nil, err
		}
		task, permits, err := s.permitted(ctx, request.Task)
		if err != nil {
			return nil, err
		}
		var response pluginsdk.CreateTaskResponse
		err = s.write(ctx, 1, sizeOf(task), func() error {
			if err := s.audit(ctx, "task "+s.plugin+"/"+request.Key, permits); err != nil {
				return err
			}
			in, err := s.granted(ctx, s.plugin)
			if err != nil {
				return err
			}
			by, err := s.label(ctx, task.RequestedBy)
			if err != nil {
				return err
			}
			if task.RequestedBy == "" || by.Token != "" || by.OfAgent() {
				task.RequestedBy = by.Author
			}
			response.Task, response.Existed, err = s.Tasks.Create(ctx, ledger.NewTask{
				Origin: by.Origin, NewTask: task, Plugin: s.plugin, Key: request.Key, CauseRunID: in.origin.Cause(), CauseTaskID: in.origin.TaskHook(),
				AskedPermissionMode: request.Task.PermissionMode,
			})
			return err
		})
		return &response, err
	})
}

// permitted gives a task its parent's permission mode, and refuses one that may be
// more than its parent, or whose parents are not the plugin's, without threads.admin.
// It returns what was allowed for that alone.
func (s tasks) permitted(ctx context.Context, task pluginsdk.NewTask) (pluginsdk.NewTask, []permit, error) {
	if err := s.CheckPermissionMode(task.PermissionMode); err != nil {
		return task, nil, err
	}
	from, err := s.goesOn(ctx, &task)
	if err != nil {
		return task, nil, err
	}
	limits, permits, err := s.parents(ctx, &task)
	if err != nil {
		return task, nil, err
	}
	permits = slices.DeleteFunc(permits, func(p permit) bool { // it was made below them before
		return from.ID != "" && (p.field == "parentThreadId" || p.field == "parentTaskId" && p.to == from.ParentTaskID)
	})
	if task.Cwd != "" && task.Cwd != from.Cwd && !slices.ContainsFunc(limits, func(of limit) bool { return of.cwd == task.Cwd }) {
		permits = append(permits, permit{"cwd", limits[0].cwd, task.Cwd})
	}
	if task.Account != "" && task.Account != from.Account && !slices.ContainsFunc(limits, func(of limit) bool { return of.account == task.Account }) {
		permits = append(permits, permit{"account", limits[0].account, task.Account})
	}
	for _, of := range limits {
		permits = append(permits, of.exceededBy(task)...)
	}
	if task.PermissionMode == "" { // the task's above it, where there is one
		task.PermissionMode = limits[len(limits)-1].mode
		if slices.ContainsFunc(limits, func(of limit) bool { return of.mode == leastMode }) {
			task.PermissionMode = leastMode
		}
	}
	if len(permits) > 0 && !s.Grants.Granted(s.plugin, pluginsdk.CapThreadsAdmin) {
		var fields []string
		for _, permit := range permits {
			if !slices.Contains(fields, permit.field) {
				fields = append(fields, permit.field)
			}
		}
		return task, nil, pluginsdk.Errorf(pluginsdk.CodeDenied,
			"%s: a task has a parent of its plugin's, or the thread that its hook or tool is called in, and may do no more than that; %w",
			strings.Join(fields, ", "), lacks(s.plugin, pluginsdk.CapThreadsAdmin))
	}
	return task, permits, nil
}

// goesOn returns the task that a new one goes on from, if any: it has the same parents, of
// which it names others only by mistake.
func (s tasks) goesOn(ctx context.Context, task *pluginsdk.NewTask) (from pluginsdk.Task, err error) {
	if task.FromTaskID == "" {
		return from, nil
	}
	if from, err = s.Store.Task(ctx, task.FromTaskID); err != nil {
		return from, pluginsdk.Errorf(pluginsdk.CodeOf(err), "fromTaskId: %w", err)
	}
	if from.Plugin != s.plugin {
		return from, pluginsdk.Errorf(pluginsdk.CodeDenied, "fromTaskId: task %s is of the plugin %s, which alone goes on from it", from.ID, from.Plugin)
	}
	if task.ParentThreadID == "" {
		task.ParentThreadID = from.ParentThreadID
	}
	if task.ParentThreadID != from.ParentThreadID {
		return from, pluginsdk.Errorf(pluginsdk.CodeInvalid, "parentThreadId: task %s, whose thread this one goes on in, is below the thread %q; leave it out",
			from.ID, from.ParentThreadID)
	}
	if task.ParentTaskID == "" && from.ParentTaskID != "" {
		above, err := s.Store.Task(ctx, from.ParentTaskID)
		if err != nil {
			return from, pluginsdk.Errorf(pluginsdk.CodeOf(err), "parentTaskId: %w", err)
		}
		if above.ThreadID != task.ParentThreadID { // else it is below the one that is at work there now
			task.ParentTaskID = above.ID
		}
	}
	return from, nil
}

// leastMode is the permission mode in which an agent may do the least.
const leastMode = "plan"

// limit is what one parent of a task may do.
type limit struct {
	mode, cwd, account string
	tools              []string
}

// exceededBy returns what a task asks for beyond the limit, but for its directory and its
// account: those may be either parent's.
func (l limit) exceededBy(task pluginsdk.NewTask) (permits []permit) {
	if mode := task.PermissionMode; mode != "" && mode != l.mode && mode != leastMode {
		permits = append(permits, permit{"permissionMode", l.mode, task.PermissionMode})
	}
	if slices.ContainsFunc(task.AllowedTools, func(rule string) bool { return !slices.Contains(l.tools, rule) }) {
		permits = append(permits, permit{"allowedTools", strings.Join(l.tools, " "), strings.Join(task.AllowedTools, " ")})
	}
	return permits
}

// parents returns what the thread may do that a task is made below, then what the task
// above it may where that has another thread (without either, what anybody may), and those
// of the two that it names that are neither the plugin's nor what the call is made in.
// What is made below a task's thread is made below that task: its end ends it, and its
// cost counts there.
func (s tasks) parents(ctx context.Context, task *pluginsdk.NewTask) (limits []limit, foreign []permit, err error) {
	in, err := s.granted(ctx, s.plugin)
	if err != nil {
		return nil, nil, err
	}
	named := task.ParentTaskID
	if id := task.ParentThreadID; id != "" {
		parent, err := s.Store.Thread(ctx, id)
		if err != nil {
			return nil, nil, pluginsdk.Errorf(pluginsdk.CodeOf(err), "parentThreadId: %w", err)
		}
		var tools []string
		own := in.origin.Fence.ThreadID == id
		if parent.Kind != pluginsdk.ThreadTask {
			own = own || slices.Contains(s.Grants.Sources(s.plugin), parent.Source)
		} else {
			of, err := s.Store.Tasks(ctx, pluginsdk.TaskQuery{ThreadID: id, Newest: true, Limit: 1})
			if err != nil {
				return nil, nil, err
			}
			for _, of := range of {
				own, tools = own || of.Plugin == s.plugin, of.AllowedTools
				task.ParentTaskID = cmp.Or(task.ParentTaskID, of.ID)
			}
		}
		if !own {
			foreign = append(foreign, permit{"parentThreadId", "", id})
		}
		limits = append(limits, limit{parent.PermissionMode, parent.Cwd, parent.Account, tools})
	}
	if id := named; id != "" {
		above, err := s.Store.Task(ctx, id)
		if err != nil {
			return nil, nil, pluginsdk.Errorf(pluginsdk.CodeOf(err), "parentTaskId: %w", err)
		}
		if above.Plugin != s.plugin && in.origin.TaskID != id && (above.ThreadID == "" || above.ThreadID != in.origin.Fence.ThreadID) {
			foreign = append(foreign, permit{"parentTaskId", "", id})
		}
		if above.ThreadID != "" && above.ThreadID != task.ParentThreadID {
			thread, err := s.Store.Thread(ctx, above.ThreadID)
			if err != nil {
				return nil, nil, pluginsdk.Errorf(pluginsdk.CodeOf(err), "parentTaskId: its thread: %w", err)
			}
			limits = append(limits, limit{thread.PermissionMode, thread.Cwd, thread.Account, above.AllowedTools})
		}
	}
	if len(limits) == 0 {
		limits = []limit{{}}
	}
	return limits, foreign, nil
}

func (s tasks) Get(ctx context.Context, request *pluginsdk.GetTaskRequest) (*pluginsdk.GetTaskResponse, error) {
	return serve(s.caller, "Tasks.Get", func() (*pluginsdk.GetTaskResponse, error) {
		task, err := s.Store.Task(ctx, request.ID)
		return &pluginsdk.GetTaskResponse{Task: task}, err
	})
}

func (s tasks) List(ctx context.Context, request *pluginsdk.ListTasksRequest) (*pluginsdk.ListTasksResponse, error) {
	return serve(s.caller, "Tasks.List", func() (*pluginsdk.ListTasksResponse, error) {
		rows, err := s.Store.Tasks(ctx, request.Query)
		return &pluginsdk.ListTasksResponse{Tasks: page(rows, false, sizeOf)}, err
	})
}

func (s tasks) History(ctx context.Context, request *pluginsdk.TaskHistoryRequest) (*pluginsdk.TaskHistoryResponse, error) {
	return serve(s.caller, "Tasks.History", func() (*pluginsdk.TaskHistoryResponse, error) {
		limit := request.Limit
		if limit <= 0 || limit > maxListed {
			limit = maxListed
		}
		iterations, answers, err := s.Tasks.History(ctx, request.ID, request.After, limit+1)
		if err != nil {
			return nil, err
		}
		some := page(answers[:min(len(answers), limit)], false, sizeOf)
		return &pluginsdk.TaskHistoryResponse{Iterations: iterations, Answers: some, More: len(some) < len(answers)}, nil
	})
}

// own refuses what another plugin's task is asked to do: who made a task takes it on.
func (s tasks) own(ctx context.Context, id string) error {
	task, err := s.Store.Task(ctx, id)
	if err == nil && task.Plugin != s.plugin {
		err = pluginsdk.Errorf(pluginsdk.CodeDenied, "task %s is of the plugin %s, which alone takes it on", id, task.Plugin)
	}
	return err
}

// transition makes one of a task of the plugin's own, of so many bytes.
func (s tasks) transition(ctx context.Context, id string, bytes int, do func() (pluginsdk.Task, error)) (task pluginsdk.Task, err error) {
	if err := s.own(ctx, id); err != nil {
		return task, err
	}
	err = s.write(ctx, 1, int64(bytes), func() (err error) {
		task, err = do()
		return err
	})
	return task, err
}

func (s tasks) Iterate(ctx context.Context, request *pluginsdk.IterateTaskRequest) (*pluginsdk.IterateTaskResponse, error) {
	return serve(s.caller, "Tasks.Iterate", func() (*pluginsdk.IterateTaskResponse, error) {
		if err := checkLengths(length{"disallowedTools", len(strings.Join(request.DisallowedTools, "")), maxTurnTools}); err != nil {
			return nil, err
		}
		var response pluginsdk.IterateTaskResponse
		iterate := func() (task pluginsdk.Task, err error) {
			task, response.Accepted, err = s.Tasks.Iterate(ctx, *request)
			return task, err
		}
		var err error
		if request.Own {
			response.Task, err = s.transition(ctx, request.ID, 0, iterate)
		} else if err = s.own(ctx, request.ID); err == nil {
			response.Task, err = iterate() // takes no turn at the writer, as Messages.Submit does not
		}
		return &response, err
	})
}

func (s tasks) Evaluate(ctx context.Context, request *pluginsdk.EvaluateTaskRequest) (*pluginsdk.EvaluateTaskResponse, error) {
	return serve(s.caller, "Tasks.Evaluate", func() (*pluginsdk.EvaluateTaskResponse, error) {
		if err := checkLengths(length{"result", len(request.Result), maxTaskText}); err != nil {
			return nil, err
		}
		task, err := s.transition(ctx, request.ID, len(request.Result), func() (pluginsdk.Task, error) { return s.Tasks.Evaluate(ctx, *request) })
		return &pluginsdk.EvaluateTaskResponse{Task: task}, err
	})
}

func (s tasks) Suspend(ctx context.Context, request *pluginsdk.SuspendTaskRequest) (*pluginsdk.SuspendTaskResponse, error) {
	return serve(s.caller, "Tasks.Suspend", func() (*pluginsdk.SuspendTaskResponse, error) {
		if err := checkLengths(length{"reason", len(request.Reason), maxTaskWords}, length{"mark", len(request.Mark), maxTaskMark},
			length{"result", len(request.Result), maxTaskText}); err != nil {
			return nil, err
		}
		task, err := s.transition(ctx, request.ID, len(request.Reason)+len(request.Result), func() (pluginsdk.Task, error) { return s.Tasks.Suspend(ctx, *request) })
		return &pluginsdk.SuspendTaskResponse{Task: task}, err
	})
}

// Decide, Fail and Cancel take no turn at the writer: a person's word must not wait
// behind what plugins store.
func (s tasks) Decide(ctx context.Context, request *pluginsdk.DecideTaskRequest) (*pluginsdk.DecideTaskResponse, error) {
	return serve(s.caller, "Tasks.Decide", func() (*pluginsdk.DecideTaskResponse, error) {
		if err := s.mayDecide(ctx, request.ID); err != nil {
			return nil, err
		}
		if err := checkLengths(length{"feedback", len(request.Feedback), maxTaskWords}, length{"author", len(request.Author), maxTaskRequester}); err != nil {
			return nil, err
		}
		by, err := s.label(ctx, request.Author)
		if err != nil {
			return nil, err
		}
		task, err := s.Tasks.Decide(ctx, by, *request)
		return &pluginsdk.DecideTaskResponse{Task: task}, err
	})
}

func (s tasks) Fail(ctx context.Context, request *pluginsdk.FailTaskRequest) (*pluginsdk.FailTaskResponse, error) {
	return serve(s.caller, "Tasks.Fail", func() (*pluginsdk.FailTaskResponse, error) {
		if err := checkLengths(length{"reason", len(request.Reason), maxTaskWords}); err != nil {
			return nil, err
		}
		if err := s.own(ctx, request.ID); err != nil {
			return nil, err
		}
		task, err := s.Tasks.Fail(ctx, request.ID, request.Reason)
		return &pluginsdk.FailTaskResponse{Task: task}, err
	})
}

func (s tasks) Cancel(ctx context.Context, request *pluginsdk.CancelTaskRequest) (*pluginsdk.CancelTaskResponse, error) {
	return serve(s.caller, "Tasks.Cancel", func() (*pluginsdk.CancelTaskResponse, error) {
		if err := checkLengths(length{"reason", len(request.Reason), maxTaskWords}, length{"author", len(request.Author), maxTaskRequester}); err != nil {
			return nil, err
		}
		if !s.Grants.Granted(s.plugin, pluginsdk.CapTasksDecide) {
			if err := s.own(ctx, request.ID); err != nil {
				return nil, err
			}
		}
		by, err := s.label(ctx, request.Author)
		if err != nil {
			return nil, err
		}
		task, err := s.Tasks.Cancel(ctx, request.ID, request.Reason, by)
		return &pluginsdk.CancelTaskResponse{Task: task}, err
	})
}

type crons struct{ *caller }

func (s crons) Save(ctx context.Context, request *pluginsdk.SaveCronRequest) (*pluginsdk.SaveCronResponse, error) {
	return serve(s.caller, "Crons.Save", func() (*pluginsdk.SaveCronResponse, error) {
		if err := s.check(ctx, request.Spec); err != nil {
			return nil, err
		}
		var response pluginsdk.SaveCronResponse
		err := s.write(ctx, 1, sizeOf(request.Spec), func() (err error) {
			response.Job, response.Existed, err = s.Store.SaveCron(ctx, request.Spec, request.Enabled)
			return err
		})
		return &response, err
	})
}

func (s crons) check(ctx context.Context, spec pluginsdk.CronSpec) error {
	if err := spec.CheckName(); err != nil {
		return err
	}
	if !spec.OneCause() {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "schedule, fireAt, trigger: a job has one of the three")
	}
	if err := checkCronLengths(spec); err != nil {
		return err
	}
	if err := checkTime("fireAt", spec.FireAt); err != nil {
		return err
	}
	if err := checkTime("until", spec.Until); err != nil {
		return err
	}
	switch spec.Overlap {
	case "", pluginsdk.OverlapSkip, pluginsdk.OverlapQueue, pluginsdk.OverlapCancel:
	default:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "overlap: %q is not one of skip, queue, cancel", spec.Overlap)
	}
	if spec.Lateness < 0 || spec.Jitter < 0 {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "lateness, jitter: a duration is not negative")
	}
	if err := s.checkRuns(spec); err != nil {
		return err
	}
	if _, err := time.LoadLocation(spec.Timezone); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"timezone: %q is not a name of the IANA database, such as America/Phoenix", spec.Timezone)
	}
	return s.checkCarried(ctx, "reportTo", spec.ReportTo)
}

// checkRuns refuses what the runs of a job cannot be.
func (s crons) checkRuns(spec pluginsdk.CronSpec) error {
	switch spec.Report {
	case "", pluginsdk.ReportAlways, pluginsdk.ReportOnNotify, pluginsdk.ReportNever:
	default:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "report: %q is not one of always, on_notify, never", spec.Report)
	}
	switch {
	case spec.Session != "" && spec.Session != pluginsdk.SessionFresh && spec.Session != pluginsdk.SessionThread:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "session: %q is neither %s nor %s", spec.Session, pluginsdk.SessionFresh, pluginsdk.SessionThread)
	case spec.Session == pluginsdk.SessionFresh && spec.ThreadID != "":
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "session: a job in a thread of people is part of their conversation, and cannot begin a fresh one; leave session or threadId out")
	case spec.Timeout < 0 || spec.Timeout > maxTurnTimeout:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "timeout: %s is not between 0 (the daemon's) and %s", spec.Timeout, maxTurnTimeout)
	case spec.CostCapUSD < 0 || math.IsNaN(spec.CostCapUSD) || math.IsInf(spec.CostCapUSD, 0):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "costCapUsd: %v is not an amount", spec.CostCapUSD)
	}
	if i := slices.IndexFunc(spec.Tools, func(rule string) bool { return strings.TrimSpace(rule) == "" || strings.Contains(rule, "\n") }); i >= 0 {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "tools[%d]: %q is no rule: it has one line, such as WebFetch", i, spec.Tools[i])
	}
	return s.CheckPermissionMode(spec.PermissionMode)
}

// checkTime refuses a time that not every database can keep, nor every program read.
func checkTime(field string, at time.Time) error {
	if year := at.UTC().Year(); !at.IsZero() && (year < 1970 || year > 9999) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: the year %d is not one of 1970 to 9999", field, year)
	}
	return nil
}

func (s crons) SetEnabled(ctx context.Context, request *pluginsdk.SetCronEnabledRequest) (*pluginsdk.SetCronEnabledResponse, error) {
	return serve(s.caller, "Crons.SetEnabled", func() (*pluginsdk.SetCronEnabledResponse, error) {
		var response pluginsdk.SetCronEnabledResponse
		err := s.write(ctx, 1, 0, func() (err error) {
			response.Job, err = s.Store.SetCronEnabled(ctx, request.Name, request.Enabled)
			return err
		})
		return &response, err
	})
}

func (s crons) Report(ctx context.Context, request *pluginsdk.ReportCronRequest) (*pluginsdk.ReportCronResponse, error) {
	return serve(s.caller, "Crons.Report", func() (*pluginsdk.ReportCronResponse, error) {
		if err := checkLengths(length{"lastResult", len(request.Status.LastResult), maxCronResult}, length{"mark", len(request.Status.Mark), maxCronResult}); err != nil {
			return nil, err
		}
		if err := checkTime("lastRun", request.Status.LastRun); err != nil {
			return nil, err
		}
		if err := checkTime("nextRun", request.Status.NextRun); err != nil {
			return nil, err
		}
		if err := checkFires(request.Fires); err != nil {
			return nil, err
		}
		var response pluginsdk.ReportCronResponse
		err := s.write(ctx, 1+len(request.Fires), sizeOf(request.Status)+sizeOf(request.Fires), func() (err error) {
			response.Job, err = s.Store.ReportCron(ctx, request.Name, request.Status, request.Fires...)
			return err
		})
		return &response, err
	})
}

func (s crons) List(ctx context.Context, request *pluginsdk.ListCronsRequest) (*pluginsdk.ListCronsResponse, error) {
	return serve(s.caller, "Crons.List", func() (*pluginsdk.ListCronsResponse, error) {
		jobs, err := s.Store.Crons(ctx)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(jobs, func(a, b pluginsdk.CronJob) int { return strings.Compare(a.Spec.Name, b.Spec.Name) })
		next := func(job pluginsdk.CronJob) bool { return job.Spec.Name > request.After }
		jobs, more := listed(jobs, next, request.Limit)
		return &pluginsdk.ListCronsResponse{Jobs: jobs, More: more}, nil
	})
}

func (s crons) Fires(ctx context.Context, request *pluginsdk.CronFiresRequest) (*pluginsdk.CronFiresResponse, error) {
	return serve(s.caller, "Crons.Fires", func() (*pluginsdk.CronFiresResponse, error) {
		var response pluginsdk.CronFiresResponse
		var err error
		response.Fires, response.More, err = s.Store.CronFires(ctx, *request)
		if some := page(response.Fires, false, sizeOf); len(some) < len(response.Fires) {
			response.Fires, response.More = some, true
		}
		return &response, err
	})
}

func (s crons) Fire(ctx context.Context, request *pluginsdk.FireCronRequest) (*pluginsdk.FireCronResponse, error) {
	return serve(s.caller, "Crons.Fire", func() (*pluginsdk.FireCronResponse, error) {
		if err := checkLengths(length{"data", len(request.Data), maxCronPrompt}); err != nil {
			return nil, err
		}
		var response pluginsdk.FireCronResponse
		err := s.write(ctx, 1, int64(len(request.Data)), func() (err error) {
			response.Fire, err = s.Store.FireCron(ctx, request.Name, request.Data)
			return err
		})
		if err == nil {
			s.Events.Publish(pluginsdk.EventCronChanged, "", pluginsdk.CronPayload{})
		}
		return &response, err
	})
}

// Ask asks another plugin. Inside of a hook or of a tool's call it is part of that one's run, and ends with it.
func (s crons) Ask(ctx context.Context, request *pluginsdk.AskCronRequest) (*pluginsdk.AskCronResponse, error) {
	return serve(s.caller, "Crons.Ask", func() (*pluginsdk.AskCronResponse, error) {
		question := request.Question
		if err := checkLengths(length{"jobId", len(question.JobID), maxCronName}, length{"job", len(question.Job), maxCronName},
			length{"data", len(question.Data), pluginsdk.MaxCronText}); err != nil {
			return nil, err
		}
		if request.Plugin == "" {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "plugin: name the plugin that is asked")
		}
		ctx, behalf, leave, err := s.inside(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		answer, err := s.Grants.AskCron(ctx, behalf, request.Plugin, question)
		return &pluginsdk.AskCronResponse{News: answer.News, Text: answer.Text}, err
	})
}

func (s crons) Delete(ctx context.Context, request *pluginsdk.DeleteCronRequest) (*pluginsdk.DeleteCronResponse, error) {
	return serve(s.caller, "Crons.Delete", func() (*pluginsdk.DeleteCronResponse, error) {
		err := s.write(ctx, 1, 0, func() error { return s.Store.DeleteCron(ctx, request.Name) })
		return &pluginsdk.DeleteCronResponse{}, err
	})
}
