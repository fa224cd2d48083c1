package discord

import (
	"context"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	typingPause = 8 * time.Second         // Discord shows it for 10 s
	editPause   = 1500 * time.Millisecond // between two edits of a message
	firstEdit   = time.Second             // from the first words to the message that shows them
	showTime    = 15 * time.Second        // bounds a post or an edit
	keptText    = 32 << 10                // bytes of an answer's end that are kept to be shown
	footerUnits = 120
	// footer is how the line begins that stands below an answer while it is written.
	footer = "-# …"
)

// view shows one run while it is at work: typing, and its answer as it is written, in one
// message with a button that stops it.
type view struct {
	run   string
	of    record
	p     *Plugin
	mu    sync.Mutex // guards what follows
	said  []byte     // the end of the answer so far
	cut   bool       // said is not all
	doing string     // what the agent uses, in a word
	id    string     // of the message; unknownLive when it is not known whether there is one
	shown string

	news  chan struct{} // has an element when there is something to show
	stop  chan struct{} // closed to end it
	once  sync.Once
	ended chan struct{} // closed when it has ended
}

// follow shows the run until it is stopped.
func (v *view) follow() {
	defer close(v.ended)
	typing := time.NewTicker(typingPause)
	defer typing.Stop()
	v.showTyping()
	var due <-chan time.Time
	wait := firstEdit
	for {
		select {
		case <-v.stop:
			return
		case <-typing.C:
			v.showTyping()
		case <-v.news:
			if due == nil && v.p.account.Load().Live {
				due = time.After(wait)
			}
		case <-due:
			due, wait = nil, editPause
			if !v.show() {
				due, wait = nil, time.Hour // the channel takes no messages: the answer will say so
			}
		}
	}
}

func (v *view) showTyping() {
	ctx, cancel := context.WithTimeout(context.Background(), showTime)
	defer cancel()
	if err := v.p.account.Load().client.Typing(ctx, v.of.Channel); err != nil {
		v.p.host.Log.Debug("typing could not be shown", "channel", v.of.Channel, "err", err)
	}
}

// heard takes in what the agent does.
func (v *view) heard(event pluginsdk.StreamEvent) {
	v.mu.Lock()
	switch event.Type { //nolint:exhaustive // the others are not shown
	case pluginsdk.StreamTextDelta:
		v.said = append(v.said, event.Text...)
		if len(v.said) > 2*keptText {
			v.said = append([]byte(nil), v.said[len(v.said)-keptText:]...)
			v.cut = true
		}
		v.doing = ""
	case pluginsdk.StreamText:
		v.said = append(v.said, "\n\n"...) // the next block is a paragraph of its own
	case pluginsdk.StreamToolCall:
		v.doing = event.ToolName
	default:
		v.mu.Unlock()
		return
	}
	v.mu.Unlock()
	select {
	case v.news <- struct{}{}:
	default:
	}
}

// show posts or edits the message. False: there is no use in trying again.
func (v *view) show() bool {
	v.mu.Lock()
	said, doing, id, shown := string(v.said), v.doing, v.id, v.shown
	if v.cut {
		said = "…" + said
	}
	v.mu.Unlock()
	now := liveText(said, doing)
	if now == "" || now == shown {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), showTime)
	defer cancel()
	message := rest.Message{Content: now, Components: stopButton(v.run)}
	client := v.p.account.Load().client
	var err error
	if id == "" || id == unknownLive {
		if err := v.p.runs.change(ctx, v.run, true, func(r *record) { r.Live = unknownLive }); err != nil {
			v.p.host.Log.Warn("an answer is not shown while it is written", "run", v.run, "err", err)
			return false
		}
		v.remember(unknownLive, "")
		message.Nonce, message.ReplyTo = nonce("live", v.run, 0), v.of.replyTo()
		var posted wire.Message
		posted, err = client.Send(ctx, v.of.Channel, message)
		id = posted.ID
	} else {
		_, err = client.Edit(ctx, v.of.Channel, id, message)
	}
	if err != nil {
		v.p.host.Log.Debug("an answer could not be shown while it is written", "channel", v.of.Channel, "err", err)
		return rest.Passing(err)
	}
	v.remember(id, now)
	return true
}

func (v *view) remember(id, shown string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.id, v.shown = id, shown
}

// liveText is an answer that is not finished, with what the agent does below it.
func liveText(said, doing string) string {
	below := footer + " writing"
	if doing != "" {
		below = footer + " " + text.Escape(text.Name(toolName(doing), footerUnits/2))
	}
	said = text.Live(said, text.Limit-footerUnits)
	if said == "" && doing == "" {
		return ""
	}
	if said == "" {
		return below
	}
	return said + "\n" + below
}

// stopButton is the button below an answer that is being written.
func stopButton(run string) []discordgo.MessageComponent {
	return buttons(discordgo.Button{Label: "Stop", Style: discordgo.SecondaryButton, CustomID: press.ID{Action: press.Stop, Of: run}.String()})
}

// buttons are rows of at most five of them.
func buttons(all ...discordgo.Button) (rows []discordgo.MessageComponent) {
	const inRow, maxRows = 5, 5
	for len(all) > 0 && len(rows) < maxRows {
		n := min(inRow, len(all))
		row := discordgo.ActionsRow{}
		for _, button := range all[:n] {
			row.Components = append(row.Components, button)
		}
		rows, all = append(rows, row), all[n:]
	}
	return rows
}

// views shows the runs that are at work.
type views struct {
	p *Plugin

	mu      sync.Mutex
	running map[string]*view
}

// begin shows a run, if it was asked for on Discord.
func (vs *views) begin(run string) {
	if vs.p.account.Load().client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), hostTime)
	defer cancel()
	of, ok, err := vs.p.runs.get(ctx, run)
	if err != nil || !ok || of.Answer != nil { // an interaction shows by itself that it waits
		return
	}
	vs.p.reactions.set(of, running)
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if _, ok := vs.running[run]; ok {
		return
	}
	v := &view{run: run, of: of, p: vs.p, id: of.Live, news: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
	vs.running[run] = v
	go v.follow()
}

// of is the view of a run, or nil.
func (vs *views) of(run string) *view {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.running[run]
}

// end takes a run's view away, and notes which message it was. It returns when nothing more
// is posted by it.
func (vs *views) end(run string) {
	v := vs.of(run)
	if v == nil {
		return
	}
	v.once.Do(func() { close(v.stop) })
	<-v.ended
	vs.mu.Lock()
	_, mine := vs.running[run]
	delete(vs.running, run)
	vs.mu.Unlock()
	v.mu.Lock()
	id := v.id
	v.mu.Unlock()
	if mine && id != "" {
		_ = vs.p.runs.change(context.Background(), run, false, func(r *record) { r.Live = id }) // in memory: no error
	}
}

// stop ends all views.
func (vs *views) stop() {
	vs.mu.Lock()
	var all []string
	for run := range vs.running {
		all = append(all, run)
	}
	vs.mu.Unlock()
	for _, run := range all {
		vs.end(run)
	}
}
