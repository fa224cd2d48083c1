package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

const turnerName = "turner"

// turner is a plugin that asks the agent for turns: those of wanted.json as soon as it
// is active, and what it is told by /turn REQUEST and by its tool turn, which wait for
// the answer. It notes what became of the first in turned.txt.
type turner struct {
	host pluginsdk.Host
	mu   sync.Mutex
}

func runTurner() { serve.Main(&turner{}) }

func (*turner) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: turnerName, Version: "1.0.0", Commands: []pluginsdk.CommandSpec{{Name: "turn"}},
		Tools: []pluginsdk.ToolSpec{{Name: "turn", Description: "asks another agent", InputSchema: json.RawMessage(`{}`)}},
	}
}

func (p *turner) Start(_ context.Context, host pluginsdk.Host) error {
	p.host = host
	return nil
}

// crowd has as many tasks iterate as crowd.txt says.
func (p *turner) crowd() {
	content, err := os.ReadFile(beside("crowd.txt"))
	if err != nil {
		return
	}
	many, _ := strconv.Atoi(string(content))
	go func() { // one after the other: few writes of a plugin may wait
		ctx := context.Background()
		for n := range many {
			made, err := p.host.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Key: strconv.Itoa(n), Task: pluginsdk.NewTask{Prompt: "work"}})
			for err == nil {
				_, err = p.host.Tasks.Iterate(ctx, &pluginsdk.IterateTaskRequest{ID: made.Task.ID, Iteration: 1, Content: "work"})
				if pluginsdk.CodeOf(err) != pluginsdk.CodeStale { // it is running
					break
				}
				<-time.After(10 * time.Millisecond) // nobody tells a plugin without events
				err = nil
			}
			if err != nil {
				slog.Error("a task of the crowd", "err", err)
			}
		}
	}()
}

func (p *turner) Activate(context.Context) error {
	p.crowd()
	content, err := os.ReadFile(beside("wanted.json"))
	if err != nil {
		return nil //nolint:nilerr // there is nothing to do then
	}
	var wanted []pluginsdk.StartTurnRequest
	if err := json.Unmarshal(content, &wanted); err != nil {
		return err
	}
	for _, request := range wanted {
		go func() {
			answer := p.ask(context.Background(), &request)
			p.mu.Lock()
			defer p.mu.Unlock()
			appendLine(beside("turned.txt"), request.Key+": "+answer)
		}()
	}
	return nil
}

func (*turner) Deactivate(context.Context) error { return nil }

// ask starts a turn and tells how it ended.
func (p *turner) ask(ctx context.Context, request *pluginsdk.StartTurnRequest) string {
	started, err := p.host.Agent.Start(ctx, request)
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeUnavailable:
		return "not ended: " + err.Error()
	case err != nil:
		return "refused: " + err.Error()
	}
	ended, err := p.host.Agent.Wait(ctx, &pluginsdk.WaitTurnRequest{RunID: started.RunID})
	if err != nil {
		return "not ended: " + err.Error()
	}
	answer := fmt.Sprintf("%s %s existed=%v error=%q", started.RunID, ended.State, started.Existed, ended.Error)
	if ended.Result != nil {
		answer += fmt.Sprintf(" text=%q output=%s cost=%g", ended.Result.Text, ended.Result.StructuredOutput, ended.Result.CostUSD)
	}
	return answer
}

func (p *turner) OnCommand(ctx context.Context, request *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	var turn pluginsdk.StartTurnRequest
	if err := json.Unmarshal([]byte(request.Body), &turn); err != nil {
		return nil, err
	}
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: p.ask(ctx, &turn)}, nil
}

func (p *turner) CallTool(ctx context.Context, request *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	var turn pluginsdk.StartTurnRequest
	if err := json.Unmarshal(request.Input, &turn); err != nil {
		return nil, err
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: p.ask(ctx, &turn)}}, nil
}

// adoptTurner does what an operator does with a plugin of somebody else's.
func (in *installation) adoptTurner(wanted ...pluginsdk.StartTurnRequest) {
	in.t.Helper()
	if len(wanted) > 0 {
		encoded, err := json.Marshal(wanted)
		if err != nil {
			in.t.Fatal(err)
		}
		if err := os.WriteFile(in.config.Plugins+"/wanted.json", encoded, 0o600); err != nil {
			in.t.Fatal(err)
		}
	}
	in.sql(`UPDATE plugins SET granted = '["agent.invoke", "threads.admin", "tasks.read", "tasks.write","turns.read","turns.change","turns.decide","tasks.prepare","tasks.judge"]', enabled = TRUE WHERE name = 'turner'`)
	database := in.database()
	in.until("the turner's serving", func() bool {
		return plugin(in.t, database, turnerName).State == pluginsdk.PluginServing
	})
}

// dismissTurner turns the turner off, and forgets what it has noted.
func (in *installation) dismissTurner() {
	in.t.Helper()
	in.sql(`UPDATE plugins SET enabled = FALSE WHERE name = 'turner'`)
	database := in.database()
	in.until("the turner's end", func() bool {
		return plugin(in.t, database, turnerName).State == pluginsdk.PluginDisabled
	})
	_ = os.Remove(in.config.Plugins + "/turned.txt")
}

// turned is what the turner has noted of turns that are over: one that the daemon died
// under has noted that as well.
func (in *installation) turned() []string {
	in.t.Helper()
	return slices.DeleteFunc(lines(in.t, in.config.Plugins+"/turned.txt"), func(line string) bool {
		return line == "" || strings.Contains(line, ": not ended: ")
	})
}
