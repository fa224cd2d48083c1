package hostapi

import (
	"context"
	"slices"
	"strings"
	"time"

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
			made, created, err := s.Store.CreateTask(ctx, s.plugin, request.Key, task)
			response.Task, response.Existed = made, !created
			return err
		})
		if err == nil && !response.Existed {
			s.Events.Publish(pluginsdk.EventTaskCreated, response.Task.ThreadID, pluginsdk.TaskPayload{
				TaskID: response.Task.ID, ThreadID: response.Task.ThreadID, Status: response.Task.Status,
			})
		}
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
	parent, tools, permits, err := s.parents(ctx, task)
	if err != nil {
		return task, nil, err
	}
	switch task.PermissionMode {
	case "":
		task.PermissionMode = parent.PermissionMode
	case parent.PermissionMode, "plan": // plan is the least there is
	default:
		permits = append(permits, permit{"permissionMode", parent.PermissionMode, task.PermissionMode})
	}
	if task.Cwd != "" && task.Cwd != parent.Cwd {
		permits = append(permits, permit{"cwd", parent.Cwd, task.Cwd})
	}
	if beyond := slices.DeleteFunc(slices.Clone(task.AllowedTools), func(rule string) bool { return slices.Contains(tools, rule) }); len(beyond) > 0 {
		permits = append(permits, permit{"allowedTools", strings.Join(tools, " "), strings.Join(task.AllowedTools, " ")})
	}
	if len(permits) > 0 && !s.Grants.Granted(s.plugin, pluginsdk.CapThreadsAdmin) {
		fields := make([]string, len(permits))
		for n, permit := range permits {
			fields[n] = permit.field
		}
		return task, nil, pluginsdk.Errorf(pluginsdk.CodeDenied,
			"%s: a task has a parent of its plugin's, or the thread that its hook or tool is called in, and may do no more than that; %w",
			strings.Join(fields, ", "), lacks(s.plugin, pluginsdk.CapThreadsAdmin))
	}
	return task, permits, nil
}

// parents returns the thread that a task is made below, with the tools that the task
// has whose thread it is, and those of the two parents that it names that are neither
// the plugin's nor what the call is made in.
func (s tasks) parents(ctx context.Context, task pluginsdk.NewTask) (parent pluginsdk.Thread, tools []string, foreign []permit, err error) {
	in, err := s.granted(ctx, s.plugin)
	if err != nil {
		return parent, nil, nil, err
	}
	if id := task.ParentThreadID; id != "" {
		if parent, err = s.Store.Thread(ctx, id); err != nil {
			return parent, nil, nil, pluginsdk.Errorf(pluginsdk.CodeOf(err), "parentThreadId: %w", err)
		}
		own := in.origin.Fence.ThreadID == id
		if parent.Kind != pluginsdk.ThreadTask {
			own = own || slices.Contains(s.Grants.Sources(s.plugin), parent.Source)
		} else {
			of, err := s.Store.Tasks(ctx, pluginsdk.TaskQuery{ThreadID: id, Limit: 1})
			if err != nil {
				return parent, nil, nil, err
			}
			for _, of := range of {
				own, tools = own || of.Plugin == s.plugin, of.AllowedTools
			}
		}
		if !own {
			foreign = append(foreign, permit{"parentThreadId", "", id})
		}
	}
	if id := task.ParentTaskID; id != "" {
		above, err := s.Store.Task(ctx, id)
		if err != nil {
			return parent, nil, nil, pluginsdk.Errorf(pluginsdk.CodeOf(err), "parentTaskId: %w", err)
		}
		if above.Plugin != s.plugin && in.origin.TaskID != id && (above.ThreadID == "" || above.ThreadID != in.origin.Fence.ThreadID) {
			foreign = append(foreign, permit{"parentTaskId", "", id})
		}
	}
	return parent, tools, foreign, nil
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

func (tasks) Iterate(context.Context, *pluginsdk.IterateTaskRequest) (*pluginsdk.IterateTaskResponse, error) {
	return nil, unimplemented("Tasks.Iterate")
}

func (tasks) Evaluate(context.Context, *pluginsdk.EvaluateTaskRequest) (*pluginsdk.EvaluateTaskResponse, error) {
	return nil, unimplemented("Tasks.Evaluate")
}

func (tasks) Suspend(context.Context, *pluginsdk.SuspendTaskRequest) (*pluginsdk.SuspendTaskResponse, error) {
	return nil, unimplemented("Tasks.Suspend")
}

func (tasks) Decide(context.Context, *pluginsdk.DecideTaskRequest) (*pluginsdk.DecideTaskResponse, error) {
	return nil, unimplemented("Tasks.Decide")
}

func (tasks) Fail(context.Context, *pluginsdk.FailTaskRequest) (*pluginsdk.FailTaskResponse, error) {
	return nil, unimplemented("Tasks.Fail")
}

func (tasks) Cancel(context.Context, *pluginsdk.CancelTaskRequest) (*pluginsdk.CancelTaskResponse, error) {
	return nil, unimplemented("Tasks.Cancel")
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
	switch {
	case spec.Name == "":
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: a job needs one")
	case (spec.Schedule == "") == spec.FireAt.IsZero():
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "schedule, fireAt: a job has one of the two")
	}
	if err := checkCronLengths(spec); err != nil {
		return err
	}
	if err := checkTime("fireAt", spec.FireAt); err != nil {
		return err
	}
	if _, err := time.LoadLocation(spec.Timezone); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"timezone: %q is not a name of the IANA database, such as America/Phoenix", spec.Timezone)
	}
	return s.checkCarried(ctx, "reportTo", spec.ReportTo)
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
		if err := checkLengths(length{"lastResult", len(request.Status.LastResult), maxCronResult}); err != nil {
			return nil, err
		}
		if err := checkTime("lastRun", request.Status.LastRun); err != nil {
			return nil, err
		}
		if err := checkTime("nextRun", request.Status.NextRun); err != nil {
			return nil, err
		}
		var response pluginsdk.ReportCronResponse
		err := s.write(ctx, 1, sizeOf(request.Status), func() (err error) {
			response.Job, err = s.Store.ReportCron(ctx, request.Name, request.Status)
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

func (s crons) Delete(ctx context.Context, request *pluginsdk.DeleteCronRequest) (*pluginsdk.DeleteCronResponse, error) {
	return serve(s.caller, "Crons.Delete", func() (*pluginsdk.DeleteCronResponse, error) {
		err := s.write(ctx, 1, 0, func() error { return s.Store.DeleteCron(ctx, request.Name) })
		return &pluginsdk.DeleteCronResponse{}, err
	})
}
