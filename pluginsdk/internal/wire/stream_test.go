package wire

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// worker answers every hook that can report progress, each by the same work.
type worker struct {
	work func(ctx context.Context) error
}

func (worker) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: "worker", Version: "1", Tools: []pluginsdk.ToolSpec{{Name: "work", InputSchema: json.RawMessage(`{}`)}}}
}

func (w worker) OnTaskCreate(ctx context.Context, _ *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
	worked := "worked"
	return &pluginsdk.OnTaskCreateResponse{Cwd: &worked}, w.work(ctx)
}

func (w worker) OnTaskComplete(ctx context.Context, _ *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	return &pluginsdk.OnTaskCompleteResponse{Feedback: "worked"}, w.work(ctx)
}

func (w worker) OnTaskValidated(ctx context.Context, _ *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
	return &pluginsdk.OnTaskValidatedResponse{Reason: "worked"}, w.work(ctx)
}

func (w worker) OnTaskFailed(ctx context.Context, _ *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
	return nil, w.work(ctx)
}

func (w worker) CallTool(ctx context.Context, _ *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: "worked"}}, w.work(ctx)
}

// eachWork asks a worker through every hook that can report progress; ask
// returns what the response says, which is "worked".
func eachWork(t *testing.T, work func(context.Context) error, test func(t *testing.T, ask func(context.Context) (string, error))) {
	t.Helper()
	client := hooked(t, worker{work: work})
	for hook, ask := range map[pluginsdk.Hook]func(context.Context) (string, error){
		pluginsdk.HookTaskCreate: func(ctx context.Context) (string, error) {
			response, err := client.OnTaskCreate(ctx, &pluginsdk.OnTaskCreateRequest{})
			if err != nil {
				return "", err
			}
			return *response.Cwd, nil
		},
		pluginsdk.HookTaskComplete: func(ctx context.Context) (string, error) {
			response, err := client.OnTaskComplete(ctx, &pluginsdk.OnTaskCompleteRequest{})
			return orZero(response).Feedback, err
		},
		pluginsdk.HookTaskValidated: func(ctx context.Context) (string, error) {
			response, err := client.OnTaskValidated(ctx, &pluginsdk.OnTaskValidatedRequest{})
			return orZero(response).Reason, err
		},
		pluginsdk.HookTaskFailed: func(ctx context.Context) (string, error) {
			_, err := client.OnTaskFailed(ctx, &pluginsdk.OnTaskFailedRequest{})
			return "worked", err
		},
		pluginsdk.HookCallTool: func(ctx context.Context) (string, error) {
			response, err := client.CallTool(ctx, &pluginsdk.CallToolRequest{})
			return orZero(response).Result.Text, err
		},
	} {
		t.Run(string(hook), func(t *testing.T) { test(t, ask) })
	}
}

// hooked serves a plugin in memory and returns its client.
func hooked(t *testing.T, plugin pluginsdk.Plugin) *PluginClient {
	t.Helper()
	dial := func(uint32) (grpc.ClientConnInterface, error) { return nil, errors.New("there is no host") }
	server, err := NewPluginServer(plugin, dial, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return NewPluginClient(dialled(t, served(t, server.Options(), server.Register)))
}

// What a reviewer reports is what keeps it from being ended for its silence.
func TestWhatWorkReportsIsHeardInOrderBeforeItsResponse(t *testing.T) {
	eachWork(t, func(ctx context.Context) error {
		for i := range 3 {
			pluginsdk.ReportProgress(ctx, pluginsdk.Progress{Done: float64(i), Total: 3, Message: "going"})
		}
		return nil
	}, func(t *testing.T, ask func(context.Context) (string, error)) {
		var heard []pluginsdk.Progress
		ctx := pluginsdk.WithProgress(t.Context(), func(p pluginsdk.Progress) { heard = append(heard, p) })
		said, err := ask(ctx)
		if err != nil || said != "worked" {
			t.Errorf("it said %q, %v", said, err)
		}
		if want := []pluginsdk.Progress{{Total: 3, Message: "going"}, {Done: 1, Total: 3, Message: "going"}, {Done: 2, Total: 3, Message: "going"}}; !slices.Equal(heard, want) {
			t.Errorf("heard %v", heard)
		}
		if said, err := ask(t.Context()); err != nil || said != "worked" {
			t.Errorf("with nobody who listens it said %q, %v", said, err)
		}
	})
}

// Work may take an hour: a deadline that nobody asked for would end it.
func TestSilentWorkHasNoDeadlineButItsCallers(t *testing.T) {
	deadlines := make(chan time.Time, 1)
	eachWork(t, func(ctx context.Context) error {
		deadline, _ := ctx.Deadline()
		if call, _ := pluginsdk.CallFrom(ctx); !call.Deadline.IsZero() && deadline.IsZero() {
			return errors.New("the call has a deadline, its context none")
		}
		deadlines <- deadline
		return nil
	}, func(t *testing.T, ask func(context.Context) (string, error)) {
		quiet := pluginsdk.WithProgress(t.Context(), func(p pluginsdk.Progress) { t.Errorf("heard %v", p) })
		if said, err := ask(quiet); err != nil || said != "worked" {
			t.Errorf("it said %q, %v", said, err)
		}
		if deadline := <-deadlines; !deadline.IsZero() {
			t.Errorf("it was to end at %s", deadline)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := ask(ctx); err != nil {
			t.Error(err)
		}
		if deadline := <-deadlines; time.Until(deadline) > time.Hour || time.Until(deadline) < 50*time.Minute {
			t.Errorf("it was to end at %s", deadline)
		}
	})
}

// A task that is cancelled must not be worked on.
func TestWorkEndsWithItsContext(t *testing.T) {
	left := make(chan error, 1)
	eachWork(t, func(ctx context.Context) error {
		pluginsdk.ReportProgress(ctx, pluginsdk.Progress{Message: "waiting"})
		<-ctx.Done()
		left <- ctx.Err()
		return nil // it does not look at why it was ended
	}, func(t *testing.T, ask func(context.Context) (string, error)) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // it is not to come to that
		defer cancel()
		_, err := ask(pluginsdk.WithProgress(ctx, func(pluginsdk.Progress) { cancel() }))
		if pluginsdk.CodeOf(err) != pluginsdk.CodeCancelled || !errors.Is(err, context.Canceled) {
			t.Errorf("error is %s %v", pluginsdk.CodeOf(err), err)
		}
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the hook's context: %v", err)
		}
	})
}

// A goroutine that a hook left behind must not write into what came after.
func TestAReportAfterTheResponseDoesNothing(t *testing.T) {
	contexts := make(chan context.Context, 1)
	eachWork(t, func(ctx context.Context) error {
		contexts <- ctx
		return nil
	}, func(t *testing.T, ask func(context.Context) (string, error)) {
		if _, err := ask(t.Context()); err != nil {
			t.Error(err)
		}
		pluginsdk.ReportProgress(<-contexts, pluginsdk.Progress{Done: 1})
		if said, err := ask(t.Context()); err != nil || said != "worked" {
			t.Errorf("the next call said %q, %v", said, err)
		}
		<-contexts
	})
}

// recordedStream keeps what is sent.
type recordedStream struct {
	grpc.ServerStreamingServer[string]
	sent []string
}

func (r *recordedStream) Send(update *string) error {
	r.sent = append(r.sent, *update)
	return nil
}

func TestTheResponseIsTheLastThatIsSent(t *testing.T) {
	stream := &recordedStream{}
	updates := &updates[string]{stream: stream}
	progress, response := "progress", "response"
	updates.report(&progress)
	if err := updates.end(&response); err != nil {
		t.Error(err)
	}
	updates.report(&progress)
	if !slices.Equal(stream.sent, []string{"progress", "response"}) {
		t.Errorf("sent %q", stream.sent)
	}
}

func TestAFailureOfWorkKeepsItsCode(t *testing.T) {
	eachWork(t, func(ctx context.Context) error {
		pluginsdk.ReportProgress(ctx, pluginsdk.Progress{Message: "failing"})
		return pluginsdk.Errorf(pluginsdk.CodeNotFound, "no such branch")
	}, func(t *testing.T, ask func(context.Context) (string, error)) {
		if _, err := ask(t.Context()); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound || err.Error() != "no such branch" {
			t.Errorf("error is %s %v", pluginsdk.CodeOf(err), err)
		}
	})
}

// A plugin in another language may end a stream without its last message: that
// must not look like a verdict.
func TestAStreamWithoutAResponseIsAnError(t *testing.T) {
	const path = "/harness.plugin.v1.TaskService/OnTaskComplete"
	end := newOldEnd(t, golden{methods: map[string]goldenMethod{path: {}}})
	_, err := NewPluginClient(dialled(t, end.serve(t))).OnTaskComplete(t.Context(), nil)
	if pluginsdk.CodeOf(err) != pluginsdk.CodeInternal {
		t.Errorf("error is %s %v", pluginsdk.CodeOf(err), err)
	}
}

// Who says after a report that it is not there for now must be heard at once: an error without
// a trailer is taken for that of a process which has just died.
func TestAnErrorAfterAReportIsThePluginsOwn(t *testing.T) {
	dial := func(uint32) (grpc.ClientConnInterface, error) { return nil, errors.New("there is no host") }
	plugin := worker{work: func(ctx context.Context) error {
		pluginsdk.ReportProgress(ctx, pluginsdk.Progress{Message: "going"})
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the reviewer is out")
	}}
	server, err := NewPluginServer(plugin, dial, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	conn := dialled(t, served(t, server.Options(), server.Register))
	stream, err := pluginv1.NewTaskServiceClient(conn).OnTaskComplete(t.Context(), &pluginv1.OnTaskCompleteRequest{})
	for err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Unavailable || len(stream.Trailer()) == 0 {
		t.Errorf("%v, with the trailer %v", err, stream.Trailer())
	}
}
