package cron

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// mostTold is how many bytes of a reply a row has that tells it in another thread.
const mostTold = 256 << 10

// tellsThread is the thread that a job tells what it has to say, by rows of the plugin: that of its report_to. Empty: it
// reports to a place, whose plugin carries what stands in the job's own thread; or nowhere; or it fires in a thread of people,
// who read it there.
func tellsThread(spec pluginsdk.CronSpec) string {
	if spec.ThreadID != "" {
		return ""
	}
	return spec.ReportTo.ThreadID
}

// reportWords say where people see what a job says.
func reportWords(spec pluginsdk.CronSpec) string {
	switch thread := tellsThread(spec); {
	case spec.ThreadID != "":
		return "What it says is part of the thread " + spec.ThreadID + "."
	case spec.Report == pluginsdk.ReportNever && spec.ReportTo == (pluginsdk.Target{}):
		return "It tells people nothing; what it says stands in its own thread."
	case thread != "":
		return "It reports to the thread " + thread + "."
	case spec.ReportTo.Plugin != "":
		return "It reports to " + spec.ReportTo.String() + "."
	}
	return "What it says stands in its own thread, and is told nowhere else: report_to = thread:ID, or PLUGIN:PLACE such as discord:CHANNEL, has it told there."
}

// tellIn appends a row for people to a thread, once for the key, and has it carried to where what is said there goes.
func (p *Plugin) tellIn(ctx context.Context, threadID, key string, row pluginsdk.NewMessage, about notice) error {
	metadata, err := json.Marshal(about)
	if err != nil {
		return err
	}
	row.Role, row.Kind, row.Metadata = pluginsdk.RoleSystem, pluginsdk.MessageNotification, metadata
	_, err = p.host.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{
		ThreadID: threadID, Key: key, Deliver: true, Messages: []pluginsdk.NewMessage{row},
	})
	return err
}

// tellFor tells the people of a job something, once for the key: in the thread of its report_to, else in own, the thread
// of its fires. It returns the thread in which it was told.
func (p *Plugin) tellFor(ctx context.Context, spec pluginsdk.CronSpec, own, key, words string, about notice) (told string, err error) {
	if to := tellsThread(spec); to != "" && to != own {
		err := p.tellIn(ctx, to, key, pluginsdk.NewMessage{Content: cutTold(words, own)}, about)
		if pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			return to, err
		}
	}
	return own, p.tellIn(ctx, own, key, pluginsdk.NewMessage{Content: words}, about)
}

// tellReply tells the reply of a fire's run in the thread that the fire was submitted for, once. A run that was submitted
// for none has its reply carried by the host. What the thread is told is the reply as it stands in the run's thread: what
// plugins have taken out of it is in no row.
func (p *Plugin) tellReply(ctx context.Context, fire pluginsdk.CronFire, run pluginsdk.Run) error {
	if fire.State != pluginsdk.FireSucceeded || fire.Reason == mergedWords {
		return nil
	}
	rows, err := p.rowsOf(ctx, run)
	if err != nil {
		return err
	}
	var about submission
	var words []string
	var files []pluginsdk.Attachment
	for _, row := range rows {
		if row.Role == pluginsdk.RoleAssistant {
			words, files = append(words, strings.TrimSpace(row.Content)), append(files, row.Attachments...)
			continue
		}
		if of := (submission{}); json.Unmarshal(row.Metadata, &of) == nil && of.Fire != "" {
			about = of
		}
	}
	text := strings.TrimSpace(strings.Join(words, "\n\n"))
	if about.To == "" || about.To == run.ThreadID || text == "" && len(files) == 0 {
		return nil
	}
	row := pluginsdk.NewMessage{Content: "Schedule " + about.Job + ": " + cutTold(cmp.Or(text, "(files)"), run.ThreadID), Attachments: files}
	err = p.tellIn(ctx, about.To, "reply:"+about.Fire, row, notice{Event: "schedule_reply", Schedule: about.Job})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeInvalid && len(files) > 0 { // a file is not there any more
		row.Attachments = nil
		err = p.tellIn(ctx, about.To, "reply:"+about.Fire, row, notice{Event: "schedule_reply", Schedule: about.Job})
	}
	if err != nil && final(err) { // the thread was deleted: the reply stands in the job's own, and doctor says so
		p.host.Log.Warn("the reply of a schedule could not be told in the thread that it reports to", "job", about.Job, "thread", about.To, "err", err)
		return nil
	}
	return err
}

// rowsOf are the message of a run and its reply.
func (p *Plugin) rowsOf(ctx context.Context, run pluginsdk.Run) (rows []pluginsdk.Message, err error) {
	for after := int64(0); ; {
		page, err := p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{
			ThreadID: run.ThreadID, RunID: run.ID, After: after, Limit: lastMessages,
			Roles: []pluginsdk.Role{pluginsdk.RoleUser, pluginsdk.RoleAssistant}, Kinds: []pluginsdk.MessageKind{pluginsdk.MessageText},
		}})
		if err != nil {
			return nil, err
		}
		if rows = append(rows, page.Messages...); !page.More || len(page.Messages) == 0 {
			return rows, nil
		}
		after = page.Messages[len(page.Messages)-1].ID
	}
}

// cutTold bounds words that are told in another thread than own, where all of them stand.
func cutTold(words, own string) string {
	if len(words) <= mostTold {
		return words
	}
	return strings.ToValidUTF8(words[:mostTold], "") + " …\n\n(cut: all of it stands in the thread " + own + ")"
}
