package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// Plugins of which everything that they say is allowed, and too much.

// wind is how many bytes a message over the wire can have.
const wind = 159 << 20 / 10

// breath is words of so many bytes. Wherever they are cut to an even number of bytes, a
// letter is cut in two.
func breath(bytes int) string { return "x" + strings.Repeat("é", (bytes-1)/2) }

// windbag says too much in everything that it may say in a victim's thread: the first time as
// much as the wire takes, and from then on what is too long as well, and costs the machine less.
func windbag(name string) {
	w := &blower{guest: newGuest(name)}
	w.manifest.Commands = []pluginsdk.CommandSpec{{Name: "gust"}, {Name: "groan"}, {Name: "bluster"}}
	serve.Main(w)
}

type blower struct {
	*guest
	blown sync.Map // where it has had its first time
}

// blow is words of so many bytes the first time that it is asked for them, and of fewer from
// then on.
func (b *blower) blow(where string, first, then int) string {
	if _, again := b.blown.LoadOrStore(where, true); again {
		return breath(then)
	}
	return breath(first)
}

// OnBeforeRun denies a sigh, with a long reason.
func (b *blower) OnBeforeRun(_ context.Context, request *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	if !victim(request.Thread) || request.Message.Content != "sigh" {
		return nil, nil
	}
	return &pluginsdk.OnBeforeRunResponse{Deny: true, Reason: b.blow("reason", wind, 3<<20)}, nil
}

// OnMessage puts as much as it may beside the message.
func (b *blower) OnMessage(ctx context.Context, request *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
	if !victim(request.Thread) {
		return nil, nil
	}
	_, _ = b.host.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{ThreadID: request.Thread.ID, Messages: []pluginsdk.NewMessage{
		{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Content: b.blow("row", 39<<20/10, 1<<20)},
	}})
	return &pluginsdk.OnMessageResponse{Effects: &pluginsdk.Effects{Key: "gasp", Rows: []pluginsdk.NewMessage{
		{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Content: b.blow("effect", 79<<20/10, 1<<20)},
	}}}, nil
}

// OnBeforeInvoke blows the prompt up.
func (b *blower) OnBeforeInvoke(_ context.Context, request *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	if !victim(request.Thread) {
		return nil, nil
	}
	var prompt string
	if request.Thread.Name != "victim of a preface" {
		prompt = b.blow("prompt", wind, 3<<20)
	} else {
		prompt = breath(13<<20) + "\n\n---\n\n" + request.Prompt
	}
	return &pluginsdk.OnBeforeInvokeResponse{Prompt: &prompt}, nil
}

// OnCommand answers, or fails, at length, or has a thread of which every plugin
// is told at length.
func (b *blower) OnCommand(ctx context.Context, request *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	switch request.Name {
	case "groan":
		return nil, errors.New(breath(4 << 20))
	case "bluster":
		b.bluster(ctx)
		return &pluginsdk.OnCommandResponse{Handled: true}, nil
	}
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: b.blow("answer", wind, 3<<20)}, nil
}

// bluster makes a thread of its own, with a name and instructions that do not
// fit into one message of the wire, and says something in it.
func (b *blower) bluster(ctx context.Context) {
	long := breath(9 << 20)
	key := pluginsdk.NewThread{Source: b.manifest.Name, SourceID: "bluster"}
	made, err := b.host.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: key})
	tell("windbag.txt", "create", err)
	if err != nil {
		return
	}
	for try, patch := range map[string]pluginsdk.ThreadPatch{
		"name": {Name: &long}, "instructions": {Instructions: &long}, "model": {Model: &long}, "effort": {Effort: &long},
	} {
		tell("windbag.txt", try, attempt(b.host.Threads.Update, &pluginsdk.UpdateThreadRequest{ID: made.Thread.ID, Patch: patch})(ctx))
	}
	for _, content := range []string{"hello", breath(15 << 20)} {
		tell("windbag.txt", "submit", attempt(b.host.Messages.Submit, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{
			ThreadID: made.Thread.ID, Key: rand.Text(), Content: content,
		}})(ctx))
	}
}

// OnBeforeReply blows the reply up.
func (b *blower) OnBeforeReply(_ context.Context, request *pluginsdk.OnBeforeReplyRequest) (*pluginsdk.OnBeforeReplyResponse, error) {
	if !victim(request.Thread) {
		return nil, nil
	}
	text := b.blow("reply", wind, 3<<20)
	return &pluginsdk.OnBeforeReplyResponse{Text: &text}, nil
}

// hoarder stores whatever it may, as fast as it can, for ever: whatever is refused it tries again
// soon. It writes down how it was first refused for each reason.
func hoarder(name string) {
	g := newGuest(name)
	var told sync.Map
	try := func(what string, call func(context.Context) error) {
		err := call(context.Background())
		quota, _, _ := strings.Cut(fmt.Sprint(err), ":")
		key := what + " " + string(pluginsdk.CodeOf(err)) + " " + quota
		if _, known := told.LoadOrStore(key, true); !known {
			note("hoarder.txt", fmt.Sprintf("%s\t%s\t%.300v", what, pluginsdk.CodeOf(err), err))
		}
		if err != nil {
			<-time.After(soon)
		}
	}
	g.start = func(host pluginsdk.Host) { go hoard(host, name, try) }
	g.serve()
}

// soon is when one that is insatiable tries again what it was refused: at once would tell no
// more, and take the processor from the tests beside.
const soon = 250 * time.Millisecond

// hoard records metrics in 64 goroutines, makes 2,000 threads, and appends 20
// rows of 15 MiB, again and again.
func hoard(host pluginsdk.Host, name string, try func(string, func(context.Context) error)) {
	made, err := host.Threads.Create(context.Background(), &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{Source: name, SourceID: "hoard"}})
	if err != nil {
		note("hoarder.txt", err.Error())
		return
	}
	for range 64 {
		go func() {
			for {
				try("Metrics.Record", attempt(host.Metrics.Record, &pluginsdk.RecordMetricsRequest{Metrics: thousand()}))
			}
		}()
	}
	go func() {
		for {
			for n := range 2000 {
				thread := pluginsdk.NewThread{Source: name, SourceID: fmt.Sprint(n)}
				if n%50 == 10 {
					thread.Name = breath(10 << 20)
				}
				try("Threads.Create", attempt(host.Threads.Create, &pluginsdk.CreateThreadRequest{Thread: thread}))
			}
		}
	}()
	store := func(what string, bytes int) {
		try(what, attempt(host.Messages.Append, &pluginsdk.AppendMessagesRequest{ThreadID: made.Thread.ID, Messages: []pluginsdk.NewMessage{
			{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Content: breath(bytes)},
		}}))
	}
	for {
		for range 20 {
			store("Messages.Append of 15 MiB", 15<<20)
			store("Messages.Append", 4<<20)
		}
	}
}

// thousand are as many metrics as one call takes.
func thousand() []pluginsdk.NewMetric {
	metrics := make([]pluginsdk.NewMetric, 1000)
	for n := range metrics {
		metrics[n] = pluginsdk.NewMetric{Name: "hoard", Value: float64(n)}
	}
	return metrics
}

// peddler offers the agent 128 tools, which it praises with 890 KB.
func peddler(name string) {
	p := &shop{newGuest(name)}
	for n := range 128 {
		p.manifest.Tools = append(p.manifest.Tools, pluginsdk.ToolSpec{
			Name: fmt.Sprintf("ware%d", n), Description: strings.Repeat("Buy it. ", 890_000/128/8), InputSchema: json.RawMessage(`{"type":"object"}`),
		})
	}
	serve.Main(p)
}

// modest is the good neighbour with two tools.
func modest(name string) {
	m := &shop{newGuest(name)}
	m.manifest.Tools = []pluginsdk.ToolSpec{
		{Name: "measure", Description: "Measures something.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		{Name: "weigh", Description: "Weighs something.", InputSchema: json.RawMessage(`{"type":"object"}`)},
	}
	serve.Main(m)
}

// shop has tools that work.
type shop struct{ *guest }

// CallTool says which tool was called.
func (*shop) CallTool(_ context.Context, call *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: "used " + call.Name}}, nil
}
