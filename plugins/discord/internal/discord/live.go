package discord

import (
	"context"
	"strings"
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
	showAgain   = 10 * time.Second        // after one that failed
	showTime    = 10 * time.Second        // bounds a post or an edit
	keptText    = 32 << 10                // bytes of an answer's end that are kept to be shown
	footerUnits = 120
	// footer is how the line begins that stands below an answer while it is written.
	footer = "-# …"
)

// view shows one run while it is at work: typing, and its answer as it is written, in one
// message with a button that stops it.
type view struct {
	run  string
	of   record
	p    *Plugin
	news chan struct{} // has an element when there is something to show

	stop  func()        // ends it; may be called more than once
	over  chan struct{} // closed by stop
	ended chan struct{} // closed when nothing more is shown by it

	mu     sync.Mutex // guards what follows
	before []byte     // the end of the blocks of text that are whole
	block  []byte     // the one that is written, or its end
	cut    bool       // there was more
	at     int        // bytes of the turn that were heard in pieces; -1: not known
	doing  string     // what the agent uses or waits for, in words
	paused bool       // it is not at work
	id     string     // of the message; unknownLive when it is not known whether there is one
	shown  string
}

// follow shows the run until it is stopped.
func (v *view) follow() {
	defer close(v.ended)
	typing := time.NewTicker(typingPause)
	defer typing.Stop()
	v.showTyping()
	var due <-chan time.Time
	wait, news := firstEdit, v.news
	for {
		select {
		case <-v.over:
			return
		case <-typing.C:
			v.showTyping()
		case <-news:
			if due == nil && v.p.account.Load().Live {
				due = time.After(wait)
			}
		case <-due:
			due, wait = nil, editPause
			err := v.show()
			switch {
			case err == nil:
				continue
			case passing(err):
				due = time.After(showAgain)
			default:
				news = nil // the channel takes no messages, or somebody has deleted it: the answer will say so
			}
			v.p.host.Log.Debug("an answer could not be shown while it is written", "channel", v.of.Channel, "err", err)
		}
	}
}

// showTyping shows that the bot is at work, if it is.
func (v *view) showTyping() {
	v.mu.Lock()
	paused := v.paused
	v.mu.Unlock()
	if paused {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), showTime)
	defer cancel()
	if err := v.p.account.Load().client.Typing(ctx, v.of.Channel); err != nil {
		v.p.host.Log.Debug("typing could not be shown", "channel", v.of.Channel, "err", err)
	}
}

// heard takes in what the agent does, and reports whether there is something to show. mu
// is held, as for the other methods that change what is shown.
func (v *view) heard(event pluginsdk.StreamEvent) bool {
	switch event.Type { //nolint:exhaustive // the others are not shown
	case pluginsdk.StreamTextDelta:
		if v.at >= 0 && event.Offset > v.at {
			v.block = append(v.block, " … "...) // pieces were missed; the whole block follows
		}
		v.at = event.Offset + len(event.Text)
		v.block = v.end(append(v.block, event.Text...))
	case pluginsdk.StreamText:
		v.before = v.end(append(append(v.before, event.Text...), "\n\n"...)) // the next block is a paragraph of its own
		v.block, v.at = nil, -1
	case pluginsdk.StreamToolCall:
		v.doing, v.paused = toolName(event.ToolName), false
		return true
	default:
		return false
	}
	v.doing, v.paused = "", false
	return true
}

// end is the end of a text, as much as is kept of it.
func (v *view) end(said []byte) []byte {
	if len(said) <= 2*keptText {
		return said
	}
	v.cut = true
	return append([]byte(nil), said[len(said)-keptText:]...)
}

// pause takes in that the run waits for something.
func (v *view) pause(doing string) bool {
	v.doing, v.paused = doing, true
	return v.id != "" // else there is nothing yet below which it could stand
}

// goOn takes in that it waits no more.
func (v *view) goOn() bool {
	v.doing, v.paused = "", false
	return v.id != ""
}

// anew takes in that another attempt begins, which says everything from the beginning.
func (v *view) anew() {
	v.before, v.block, v.cut, v.at = nil, nil, false, 0
	v.goOn() // what is shown stays until there is something new
}

// show posts or edits the message.
func (v *view) show() error {
	v.mu.Lock()
	said, id, shown := string(v.before)+string(v.block), v.id, v.shown
	if v.cut {
		said = "…" + said
	}
	now := liveText(said, v.doing)
	v.mu.Unlock()
	if now == "" || now == shown {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), showTime)
	defer cancel()
	account := v.p.account.Load()
	message := rest.Message{Content: now, Components: stopButton(v.run)}
	switch id {
	case "":
		since := v.of.asked()
		if err := v.p.runs.change(ctx, v.run, func(r *record) { r.Live, r.Since = unknownLive, since }); err != nil {
			return err
		}
		v.of.Live, v.of.Since = unknownLive, since
	case unknownLive:
		var err error
		if id, err = v.p.liveMessage(ctx, account, v.run, v.of); err != nil {
			return err
		}
	}
	if id != "" {
		_, err := account.client.Edit(ctx, v.of.Channel, id, message)
		if err == nil {
			v.remember(id, now)
		}
		return err
	}
	v.remember(unknownLive, "")
	message.Nonce, message.ReplyTo = nonce("live", v.run, 0), v.of.replyTo()
	posted, err := account.client.Send(ctx, v.of.Channel, message)
	if err == nil {
		v.remember(posted.ID, now)
	}
	return err
}

func (v *view) remember(id, shown string) {
	v.mu.Lock()
	v.id, v.shown = id, shown
	v.mu.Unlock()
	v.p.runs.note(v.run, func(r *record) { r.Live = id })
}

// liveMessage is the message that shows a run while it is at work; empty: there is none.
func (p *Plugin) liveMessage(ctx context.Context, of *account, run string, at record) (id string, err error) {
	if at.Live != unknownLive {
		return at.Live, nil
	}
	stop := press.ID{Action: press.Stop, Of: run}.String()
	err = of.own(ctx, at.Channel, at.Since, func(message wire.Message) {
		if has(message.Components, stop) {
			id = message.ID
		}
	})
	return id, err
}

// What Discord does not take for the moment is asked again closeTries times, after
// closePause, and twice as long each time.
const (
	closeTries = 7
	closePause = 500 * time.Millisecond
)

// close ends what is shown of a run that has no answer of its own: what was said of one
// stays, without the button. An interaction that waits for it is told why. When Discord does
// not take that for the moment, it is tried again, and close returns false.
func (p *Plugin) close(ctx context.Context, run string, of record, why string) (closed bool) {
	if !p.tryClose(ctx, run, of, why) {
		return true
	}
	p.side.push(run+" close", true, func(ctx context.Context) {
		for n := range closeTries {
			if !pause(ctx, closePause<<n) || !p.tryClose(ctx, run, of, why) {
				return
			}
		}
	})
	return false
}

// tryClose is one attempt of close. It reports whether another may succeed.
func (p *Plugin) tryClose(ctx context.Context, run string, of record, why string) (again bool) {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	account := p.account.Load()
	if account.client == nil {
		return false
	}
	if of.Answer != nil && time.Now().Before(of.Answer.Until) {
		if _, err := account.client.EditResponse(ctx, of.Answer.App, of.Answer.Token, rest.Message{Content: text.Clip(why, text.Limit)}); err != nil {
			p.host.Log.Warn("a command's end could not be shown", "channel", of.Channel, "err", err)
			again = passing(err)
		}
	}
	live, err := p.liveMessage(ctx, account, run, of)
	if err == nil && live != "" {
		err = account.breakOff(ctx, of.Channel, live)
	}
	if err == nil && !again && (of.Live != "" || of.Answer != nil) {
		err = p.runs.change(ctx, run, func(r *record) { r.Live, r.Answer = "", nil })
	}
	if err != nil {
		p.host.Log.Warn("a message may go on saying that an answer is being written", "channel", of.Channel, "err", err)
	}
	return again || err != nil && passing(err)
}

// breakOff leaves what there is of an answer as it is, without the button. Nothing of it is
// no message.
func (a *account) breakOff(ctx context.Context, channel, live string) error {
	shown, err := a.client.Message(ctx, channel, live)
	if err != nil {
		return gone(err)
	}
	said := withoutFooter(shown.Content)
	if said == "" {
		return gone(a.client.Delete(ctx, channel, live))
	}
	_, err = a.client.Edit(ctx, channel, live, rest.Message{Content: said, Components: []discordgo.MessageComponent{}})
	return gone(err)
}

// liveText is an answer that is not finished, with what the agent does below it.
func liveText(said, doing string) string {
	below := footer + " writing"
	if doing != "" {
		below = footer + " " + text.Escape(text.Name(doing, footerUnits/2))
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

// withoutFooter is what a live message has said, without what stood below it.
func withoutFooter(shown string) string {
	i := strings.LastIndex(shown, "\n")
	if strings.HasPrefix(shown[i+1:], footer) {
		return strings.TrimSpace(shown[:max(i, 0)])
	}
	return shown
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
