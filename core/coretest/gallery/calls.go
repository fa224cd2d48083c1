package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// attempts are the calls of the host, one for each capability.
func attempts(host pluginsdk.Host, thread string) map[pluginsdk.Capability]func(context.Context) error {
	return map[pluginsdk.Capability]func(context.Context) error{
		pluginsdk.CapThreadsRead: func(ctx context.Context) error {
			_, err := host.Threads.List(ctx, pluginsdk.ThreadQuery{})
			return err
		},
		pluginsdk.CapThreadsWrite: func(ctx context.Context) error {
			name := "mine now"
			_, err := host.Threads.Update(ctx, thread, pluginsdk.ThreadPatch{Name: &name})
			return err
		},
		pluginsdk.CapMessagesRead: func(ctx context.Context) error {
			_, err := host.Messages.List(ctx, pluginsdk.MessageQuery{ThreadID: thread})
			return err
		},
		pluginsdk.CapMessagesWrite: func(ctx context.Context) error {
			_, err := host.Messages.Append(ctx, thread, "greedy", []pluginsdk.NewMessage{{
				Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Content: "not granted",
			}})
			return err
		},
		pluginsdk.CapMessagesSend: func(ctx context.Context) error {
			_, err := host.Messages.Submit(ctx, pluginsdk.Submission{Source: "web", Key: rand.Text(), ThreadID: thread, Content: "not granted"})
			return err
		},
		pluginsdk.CapTasksRead: func(ctx context.Context) error {
			_, err := host.Tasks.List(ctx, pluginsdk.TaskQuery{})
			return err
		},
		pluginsdk.CapTasksWrite: func(ctx context.Context) error {
			_, err := host.Tasks.Create(ctx, "greedy", pluginsdk.NewTask{ParentThreadID: thread, Prompt: "not granted"})
			return err
		},
		pluginsdk.CapRunsRead: func(ctx context.Context) error {
			_, err := host.Runs.List(ctx, pluginsdk.RunQuery{})
			return err
		},
		pluginsdk.CapRunsControl: func(ctx context.Context) error {
			_, err := host.Runs.Stop(ctx, thread, pluginsdk.DropQueue)
			return err
		},
		pluginsdk.CapDeliveriesRead: func(ctx context.Context) error {
			_, err := host.Deliveries.List(ctx, pluginsdk.DeliveryQuery{})
			return err
		},
		pluginsdk.CapDeliveriesControl: func(ctx context.Context) error {
			_, err := host.Deliveries.Retry(ctx, "any")
			return err
		},
		pluginsdk.CapAgentInvoke: func(ctx context.Context) error {
			_, err := host.Agent.Start(ctx, "greedy", pluginsdk.AgentRequest{Prompt: "not granted"})
			return err
		},
		pluginsdk.CapEventsRead: func(ctx context.Context) error {
			_, err := host.Events.Since(ctx, pluginsdk.Position{}, 1)
			return err
		},
		pluginsdk.CapEventsPublish: func(ctx context.Context) error {
			return host.Events.Publish(ctx, pluginsdk.Event{Type: "greedy:here"})
		},
		pluginsdk.CapState: func(ctx context.Context) error { return host.State.Put(ctx, "k", []byte("v")) },
		pluginsdk.CapCronsRead: func(ctx context.Context) error {
			_, err := host.Crons.List(ctx)
			return err
		},
		pluginsdk.CapCronsWrite: func(ctx context.Context) error { return host.Crons.Delete(ctx, "any") },
		pluginsdk.CapMetricsRead: func(ctx context.Context) error {
			_, err := host.Metrics.Query(ctx, pluginsdk.MetricQuery{})
			return err
		},
		pluginsdk.CapMetricsWrite: func(ctx context.Context) error {
			return host.Metrics.Record(ctx, []pluginsdk.Metric{{Name: "greedy", Value: 1}})
		},
		pluginsdk.CapToolsCall: func(ctx context.Context) error {
			_, err := host.Tools.Call(ctx, "time__current_time", json.RawMessage(`{}`))
			return err
		},
		pluginsdk.CapPluginsRead: func(ctx context.Context) error {
			_, err := host.Plugins.List(ctx)
			return err
		},
		pluginsdk.CapPluginsAdmin: func(ctx context.Context) error { return host.Plugins.SetEnabled(ctx, "activity", false) },
	}
}

// greedy tries everything that it was not granted, with every message, and
// writes down what it was told.
func greedy(name string) {
	g := newGuest(name)
	g.each = func(ctx context.Context, v visit) error {
		if v.hook != pluginsdk.HookMessage {
			return nil
		}
		calls := attempts(g.host, v.thread.ID)
		var told strings.Builder
		for _, capability := range slices.Sorted(maps.Keys(calls)) {
			fmt.Fprintf(&told, "%s\t%v\n", capability, calls[capability](ctx))
		}
		return os.WriteFile(beside("greedy.txt"), []byte(told.String()), 0o600)
	}
	g.serve()
}

// recursive submits a message whenever one was answered, which is answered, and
// so on.
func recursive(name string) {
	g := newGuest(name)
	g.each = func(ctx context.Context, v visit) error {
		if v.hook != pluginsdk.HookPipelineComplete {
			return nil
		}
		_, err := g.host.Messages.Submit(ctx, pluginsdk.Submission{Key: v.call.RunID, Content: "and again"})
		if err != nil {
			note("recursive.txt", err.Error())
		}
		return err
	}
	g.serve()
}

// launderer does the same outside of the hook's call, so that nobody can tell
// what causes what.
func launderer(name string) {
	g := newGuest(name)
	g.each = func(_ context.Context, v visit) error {
		if v.hook != pluginsdk.HookPipelineComplete {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := g.host.Messages.Submit(ctx, pluginsdk.Submission{Key: v.call.RunID, Content: "and again"})
		return err
	}
	g.serve()
}

// nester is a tool that calls itself, in its own call and out of the blue.
func nester(name string) {
	n := &nest{guest: newGuest(name)}
	schema := json.RawMessage(`{"type":"object"}`)
	n.manifest.Tools = []pluginsdk.ToolSpec{
		{Name: "nest", Description: "Calls itself.", InputSchema: schema},
		{Name: "stray", Description: "Calls itself as if nobody had called it.", InputSchema: schema},
	}
	n.start = func(host pluginsdk.Host) {
		for _, tool := range []string{"nest", "stray"} {
			go func() {
				for {
					_, _ = host.Tools.Call(context.Background(), name+"__"+tool, nil)
					<-time.After(time.Millisecond)
				}
			}()
		}
	}
	serve.Main(n)
}

type nest struct{ *guest }

// CallTool calls the tool that is called.
func (n *nest) CallTool(ctx context.Context, call pluginsdk.ToolCall) (pluginsdk.ToolResult, error) {
	if call.Name == "stray" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.Background(), time.Second)
		defer cancel()
	}
	deeper, err := n.host.Tools.Call(ctx, n.manifest.Name+"__"+call.Name, nil)
	if err != nil {
		if once(call.Name + ".told") {
			note(call.Name+".txt", err.Error())
		}
		return pluginsdk.ToolResult{Text: err.Error(), IsError: true}, nil
	}
	return deeper, nil
}
