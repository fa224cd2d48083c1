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
}

// noticeOf is the task that a message tells of; false: it tells of none.
func noticeOf(message pluginsdk.Message) (of notice, ok bool) {
	if message.Kind != pluginsdk.MessageNotification || len(message.Metadata) == 0 || json.Unmarshal(message.Metadata, &of) != nil {
		return notice{}, false
	}
	return of, of.Event == "task" && of.Task != ""
}

// wordOnTask is what a person can say on a task that waits for them. A result that they have
// not seen they accept by no button: the iteration that the notification is of is in it.
func wordOnTask(task pluginsdk.Task) []discordgo.MessageComponent {
	id := press.ID{Of: task.ID, N: task.CurrentIteration}
	accept, reject := id, id
	accept.Action, reject.Action = press.Accept, press.Reject
	return buttons(
		discordgo.Button{Label: "Accept", Style: discordgo.SuccessButton, CustomID: accept.String()},
		discordgo.Button{Label: "Send back", Style: discordgo.DangerButton, CustomID: reject.String()},
	)
}

// taskLine says which task a notification is of, and where its thread is.
func (c *config) taskLine(of notice) string {
	if c.Dashboard == "" || of.FromThread == "" {
		return ""
	}
	return "-# " + c.link(of.FromThread)
}
