package discord

import (
	"encoding/json"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// notice is what the metadata of a notification says of the task that it is of.
type notice struct {
	Event      string               `json:"event"`
	FromThread string               `json:"fromThread"`
	Task       string               `json:"task"`
	Status     pluginsdk.TaskStatus `json:"status"`
	Iteration  int                  `json:"iteration"` // 0: it does not say
}

// noticeOf is the task that a message tells of; false: it tells of none.
func noticeOf(message pluginsdk.Message) (of notice, ok bool) {
	if message.Kind != pluginsdk.MessageNotification || len(message.Metadata) == 0 || json.Unmarshal(message.Metadata, &of) != nil {
		return notice{}, false
	}
	return of, of.Event == "task" && of.Task != ""
}

// words are what a person can say on the task as it is now, if it still waits for them as
// the notification says. A result that they have not seen they accept by no button: the
// iteration that the notification is of is in it. Where there is no result, there is nothing
// to accept.
func (of notice) words(task pluginsdk.Task) []discordgo.MessageComponent {
	if of.Status != pluginsdk.TaskWaiting || task.Status != pluginsdk.TaskWaiting || task.CurrentIteration < 1 ||
		of.Iteration != 0 && of.Iteration != task.CurrentIteration {
		return nil
	}
	id := func(action press.Action) string {
		return press.ID{Action: action, Of: task.ID, N: task.CurrentIteration}.String()
	}
	var said []discordgo.Button
	if task.Result != "" {
		said = append(said, discordgo.Button{Label: "Accept", Style: discordgo.SuccessButton, CustomID: id(press.Accept)})
	}
	return buttons(append(said, discordgo.Button{Label: "Send back", Style: discordgo.DangerButton, CustomID: id(press.Reject)})...)
}

// taskLine says where the thread is of the task that a notification is of.
func (c *config) taskLine(of notice) string {
	if c.Dashboard == "" || of.FromThread == "" {
		return ""
	}
	return "-# " + c.link(of.FromThread)
}
