package hostapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

type threads struct{ *caller }

func (s threads) Get(ctx context.Context, request *pluginsdk.GetThreadRequest) (*pluginsdk.GetThreadResponse, error) {
	return serve(s.caller, "Threads.Get", func() (*pluginsdk.GetThreadResponse, error) {
		thread, err := s.Store.Thread(ctx, request.ID)
		if err == nil {
			thread.Apart, err = s.Apart(ctx, thread)
		}
		return &pluginsdk.GetThreadResponse{Thread: thread}, err
	})
}

func (s threads) List(ctx context.Context, request *pluginsdk.ListThreadsRequest) (*pluginsdk.ListThreadsResponse, error) {
	return serve(s.caller, "Threads.List", func() (*pluginsdk.ListThreadsResponse, error) {
		rows, err := s.Store.Threads(ctx, request.Query)
		for n := range rows {
			if err == nil {
				rows[n].Apart, err = s.Apart(ctx, rows[n])
			}
		}
		return &pluginsdk.ListThreadsResponse{Threads: page(rows, false, sizeOf)}, err
	})
}

func (s threads) Create(ctx context.Context, request *pluginsdk.CreateThreadRequest) (*pluginsdk.CreateThreadResponse, error) {
	return serve(s.caller, "Threads.Create", func() (*pluginsdk.CreateThreadResponse, error) {
		thread := request.Thread
		switch {
		case thread.Kind == pluginsdk.ThreadPrimary:
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "kind: there is one primary thread, and it exists")
		case thread.Source == "" || thread.SourceID == "":
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "source and sourceId: a thread needs both")
		}
		permits := permitsOf(pluginsdk.Thread{}, pluginsdk.ThreadPatch{
			Cwd: set(thread.Cwd), PermissionMode: set(thread.PermissionMode), ReportTo: set(thread.ReportTo), Account: set(thread.Account),
		})
		permits = append(permits, audienceOf(thread)...)
		if err := s.mayChange(thread.Source, permits); err != nil {
			return nil, err
		}
		if err := s.mayMove(ctx, permits); err != nil {
			return nil, err
		}
		if err := s.checkPermits(ctx, "", thread.PermissionMode, thread.ReportTo); err != nil {
			return nil, err
		}
		if len(permits) > 0 { // an audit entry is for what is made, not for what is there
			found, err := s.Store.Threads(ctx, pluginsdk.ThreadQuery{Source: thread.Source, SourceID: thread.SourceID, Limit: 1})
			if err != nil {
				return nil, err
			}
			if len(found) > 0 {
				permits = nil
			}
		}
		var response pluginsdk.CreateThreadResponse
		err := s.write(ctx, 1, sizeOf(thread), func() error {
			if err := s.audit(ctx, thread.Source+":"+thread.SourceID, permits); err != nil {
				return err
			}
			made, created, err := s.Threads.Create(ctx, thread)
			response.Thread, response.Existed = made, !created
			return err
		})
		return &response, err
	})
}

func (s threads) Update(ctx context.Context, request *pluginsdk.UpdateThreadRequest) (*pluginsdk.UpdateThreadResponse, error) {
	return serve(s.caller, "Threads.Update", func() (*pluginsdk.UpdateThreadResponse, error) {
		patch := request.Patch
		before, err := s.Store.Thread(ctx, request.ID)
		if err != nil {
			return nil, err
		}
		permits := permitsOf(before, patch)
		if err := s.mayChange(before.Source, permits); err != nil {
			return nil, err
		}
		if err := s.mayMove(ctx, permits); err != nil {
			return nil, err
		}
		if err := s.checkPermits(ctx, before.ID, value(patch.PermissionMode), value(patch.ReportTo)); err != nil {
			return nil, err
		}
		by, err := s.label(ctx, "")
		if err != nil {
			return nil, err
		}
		var after pluginsdk.Thread
		err = s.write(ctx, 1, sizeOf(patch), func() error {
			if changes := changesOf(permits); changes != "" || patch.EndSession != nil {
				after, err = s.Threads.Permit(ctx, request.ID, patch, by.AuditName(), changes)
			} else {
				after, err = s.Threads.Update(ctx, request.ID, patch)
			}
			return err
		})
		return &pluginsdk.UpdateThreadResponse{Thread: after}, err
	})
}

// Delete removes a thread of the plugin's own, or with threads.admin any, and notes who
// wanted it.
func (s threads) Delete(ctx context.Context, request *pluginsdk.DeleteThreadRequest) (*pluginsdk.DeleteThreadResponse, error) {
	return servePerson(ctx, s.caller, "Threads.Delete", func() (*pluginsdk.DeleteThreadResponse, error) {
		thread, err := s.Store.Thread(ctx, request.ID)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			return &pluginsdk.DeleteThreadResponse{}, nil
		}
		if err != nil {
			return nil, err
		}
		if err := s.mayChange(thread.Source, nil); err != nil {
			return nil, err
		}
		by, err := s.label(ctx, request.Author)
		if err != nil {
			return nil, err
		}
		err = s.write(ctx, 1, 0, func() error { return s.Threads.Delete(ctx, thread.ID, by.AuditName()) })
		return &pluginsdk.DeleteThreadResponse{}, err
	})
}

// Branch makes a thread of one of the plugin's sources of what was said in another. It may
// do what that one may, which is for threads.admin to give, unless both are the plugin's own.
func (s threads) Branch(ctx context.Context, request *pluginsdk.BranchThreadRequest) (*pluginsdk.BranchThreadResponse, error) {
	return serve(s.caller, "Threads.Branch", func() (*pluginsdk.BranchThreadResponse, error) {
		if request.Source == "" || request.SourceID == "" {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "source and sourceId: a thread needs both")
		}
		if request.MessageID < 0 {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "messageId: %d is not the id of a message", request.MessageID)
		}
		if !s.Grants.Granted(s.plugin, pluginsdk.CapMessagesRead) {
			return nil, lacks(s.plugin, pluginsdk.CapMessagesRead)
		}
		from, err := s.Store.Thread(ctx, request.ThreadID)
		if err != nil {
			return nil, err
		}
		permits := permitsOf(pluginsdk.Thread{}, pluginsdk.ThreadPatch{Cwd: set(from.Cwd), PermissionMode: set(from.PermissionMode), Account: set(from.Account)})
		asked := permits
		if s.mayChange(from.Source, nil) == nil {
			asked = nil // its own: it can have the agent do so in that one
		}
		if err := s.mayChange(request.Source, asked); err != nil {
			return nil, err
		}
		var response pluginsdk.BranchThreadResponse
		err = s.write(ctx, 1, sizeOf(request), func() error {
			if err := s.audit(ctx, request.Source+":"+request.SourceID, permits); err != nil {
				return err
			}
			made, created, err := s.Threads.Branch(ctx, ledger.Branch{
				From: from.ID, LastMessageID: request.MessageID,
				Thread: pluginsdk.NewThread{Source: request.Source, SourceID: request.SourceID, Name: request.Name},
			})
			response.Thread, response.Existed = made, !created
			return err
		})
		return &response, err
	})
}

type commands struct{ *caller }

// List tells what people can type. What does not fit into an answer is left out.
func (s commands) List(context.Context, *pluginsdk.ListCommandsRequest) (*pluginsdk.ListCommandsResponse, error) {
	return serve(s.caller, "Commands.List", func() (*pluginsdk.ListCommandsResponse, error) {
		return &pluginsdk.ListCommandsResponse{Commands: page(s.Inbox.Commands(), false, sizeOf)}, nil
	})
}

// permit is a change of what a thread may do.
type permit struct{ field, from, to string }

// permitsOf returns what a patch says of what a thread may do.
func permitsOf(thread pluginsdk.Thread, patch pluginsdk.ThreadPatch) (permits []permit) {
	if to := patch.Cwd; to != nil {
		permits = append(permits, permit{"cwd", thread.Cwd, *to})
	}
	if to := patch.PermissionMode; to != nil {
		permits = append(permits, permit{"permissionMode", thread.PermissionMode, *to})
	}
	if to := patch.ReportTo; to != nil {
		permits = append(permits, permit{"reportTo", thread.ReportTo.String(), to.String()})
	}
	if to := patch.Account; to != nil {
		permits = append(permits, permit{"account", thread.Account, *to})
	}
	if to := patch.AskTools; to != nil && *to != thread.AskTools {
		permits = append(permits, permit{"askTools", thread.AskTools, *to})
	}
	return permits
}

// audienceOf returns what a new thread is made with that decides what it is shown, or whom
// its agent asks: its kind (a schedule's is shown memory), the thread above it (whose people
// are asked), and which calls of tools people are asked about.
func audienceOf(thread pluginsdk.NewThread) (permits []permit) {
	if thread.Kind != "" && thread.Kind != pluginsdk.ThreadGeneral {
		permits = append(permits, permit{"kind", "", string(thread.Kind)})
	}
	if thread.ParentThreadID != "" {
		permits = append(permits, permit{"parentThreadId", "", thread.ParentThreadID})
	}
	if thread.AskTools != "" {
		permits = append(permits, permit{"askTools", "", thread.AskTools})
	}
	return permits
}

// mayChange refuses (CodeDenied) a change of a thread of a source that is not the
// plugin's, and of what a thread may do, without threads.admin.
func (c *caller) mayChange(source string, permits []permit) error {
	if c.Grants.Granted(c.plugin, pluginsdk.CapThreadsAdmin) {
		return nil
	}
	if len(permits) > 0 {
		fields := make([]string, len(permits))
		for n, permit := range permits {
			fields[n] = permit.field
		}
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "%s: what a thread may do is not for every plugin to say; %w",
			strings.Join(fields, ", "), lacks(c.plugin, pluginsdk.CapThreadsAdmin))
	}
	if sources := c.Grants.Sources(c.plugin); !slices.Contains(sources, source) {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "source: the thread is of %q, and the plugin %s speaks for %s; %w",
			source, c.plugin, sourceNames(sources), lacks(c.plugin, pluginsdk.CapThreadsAdmin))
	}
	return nil
}

// moves are what a person alone says of a thread: where its agent works, as whom and unasked by
// whom, and where its replies go. Kind and parent of a new thread are not among them: schedules
// and threads below threads are made by plugins.
var moves = []string{"cwd", "permissionMode", "account", "reportTo", "askTools"}

// mayMove refuses that a hook or a tool of a run or a task changes what only a person says of a
// thread, whatever its plugin may. A task's directory is OnTaskCreate's answer, and no such call.
func (c *caller) mayMove(ctx context.Context, permits []permit) error {
	for _, permit := range permits {
		if permit.from != permit.to && slices.Contains(moves, permit.field) {
			return c.outsideOfHooks(ctx, "says what a thread may do ("+permit.field+")")
		}
	}
	return nil
}

func sourceNames(sources []string) string {
	if len(sources) == 0 {
		return "none, because plugins before it have them"
	}
	return strings.Join(sources, ", ")
}

// targetHops is how many threads one may pass on its replies through.
const targetHops = 8

// checkPermits refuses a permission mode that the agent does not have, and a target
// that nobody carries anything to.
func (c *caller) checkPermits(ctx context.Context, threadID, mode string, to pluginsdk.Target) error {
	if err := c.CheckPermissionMode(mode); err != nil {
		return err
	}
	for hops := 0; to.ThreadID != ""; hops++ {
		if to.ThreadID == threadID || hops == targetHops {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "reportTo: the replies would never arrive, the threads report to each other")
		}
		next, err := c.Store.Thread(ctx, to.ThreadID)
		if err != nil {
			return pluginsdk.Errorf(pluginsdk.CodeOf(err), "reportTo: %w", err)
		}
		to = next.ReportTo
	}
	return c.checkCarried(ctx, "reportTo", to)
}

// checkCarried refuses a target that names a place of nobody's, and one whose plugin
// carries nothing; the zero one is good.
func (a *API) checkCarried(ctx context.Context, field string, to pluginsdk.Target) error {
	if again, err := pluginsdk.ParseTarget(to.String()); err != nil || again != to {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: want a plugin and its place, or a thread, not plugin %q, place %q and thread %q",
			field, to.Plugin, to.Place, to.ThreadID)
	}
	if to.Plugin == "" {
		return nil
	}
	row, err := a.Store.Plugin(ctx, to.Plugin)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: there is no plugin %s to carry anything to %s", field, to.Plugin, to)
	}
	if err == nil && !row.Manifest.Answers(pluginsdk.HookDeliver) {
		err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: the plugin %s carries nothing to people: it does not answer %s",
			field, to.Plugin, pluginsdk.HookDeliver)
	}
	return err
}

// maxAudited is how much of a value an audit entry repeats, in bytes.
const maxAudited = 100

// audit notes what a thread that the plugin makes may do. Before it is made: that is in the log,
// always.
func (c *caller) audit(ctx context.Context, thread string, permits []permit) error {
	changes := changesOf(permits)
	if changes == "" {
		return nil
	}
	for _, permit := range permits {
		if permit.field != "account" {
			continue
		}
		if err := c.checkAccount(ctx, permit.to); err != nil {
			return err // it is not made, and nothing of it belongs into the log
		}
	}
	by, err := c.label(ctx, "")
	if err != nil {
		return err
	}
	return c.Store.Audit(ctx, by.AuditName(), "thread.permit", thread, changes)
}

// changesOf says for the audit log what is changed of what a thread may do; empty: nothing.
func changesOf(permits []permit) string {
	var changes []string
	for _, permit := range permits {
		if permit.from != permit.to {
			changes = append(changes, fmt.Sprintf("%s from %.*q to %.*q", permit.field, maxAudited, permit.from, maxAudited, permit.to))
		}
	}
	return strings.Join(changes, ", ")
}

// set returns a pointer to what is not zero.
func set[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// value returns what is pointed to, or the zero value.
func value[T any](pointer *T) (value T) {
	if pointer != nil {
		value = *pointer
	}
	return value
}
