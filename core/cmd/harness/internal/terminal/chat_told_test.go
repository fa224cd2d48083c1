package terminal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// tell has a thread told of something.
func tell(daemon *clienttest.Daemon, kind pluginsdk.MessageKind, content, metadata string) {
	row := pluginsdk.Message{ThreadID: clienttest.Primary, Role: pluginsdk.RoleSystem, Kind: kind, Content: content, Metadata: []byte(metadata)}
	id := daemon.AddMessage(row)
	daemon.Publish(pluginsdk.EventThreadMessage, clienttest.Primary, pluginsdk.MessagePayload{
		ThreadID: clienttest.Primary, MessageID: id, Role: row.Role, Kind: kind,
	})
}

// Who waits for a task in a chat must see there that it is over, and how to read all of it.
func TestWhatAThreadIsToldOfIsShown(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	tell(daemon, pluginsdk.MessageNotification, "Task “old” is completed.", `{}`) // before anybody looks
	w := talk(t, daemon)
	w.out.await(t, "harness> Task “old” is completed.")
	w.out.await(t, "you> ")
	tell(daemon, pluginsdk.MessageStatus, "not for people", `{}`)
	var long strings.Builder
	for n := range notificationLines + 4 {
		fmt.Fprintf(&long, "line %d\x1b[2J\n", n)
	}
	tell(daemon, pluginsdk.MessageNotification, "Task “new” is completed.\n\n"+long.String(), `{"event":"task","task":"K"}`)
	w.out.await(t, "! Task “new” is completed.\nline 0[2J\n")
	w.out.await(t, fmt.Sprintf("line %d[2J\n(… 4 lines more; harness task show K)\nyou> ", notificationLines-1))
	tell(daemon, pluginsdk.MessageNotification, "The build is red.", `{"event":"notify"}`)
	w.out.await(t, "! The build is red.\nyou> ")
	w.enter(t, "/quit")
	w.leaves(t)
	if strings.Contains(w.out.String(), "not for people") || strings.Contains(w.out.String(), "\x1b") {
		t.Errorf("shown:\n%s", w.out)
	}
}

// Where there are no buttons, people see what to type: of rows of plugins alone.
func TestTheActionsOfARowAreShown(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	row := func(plugin, content string) {
		message := pluginsdk.Message{
			ThreadID: clienttest.Primary, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "cron", Plugin: plugin, Content: content,
			Metadata: []byte(`{"actions":[{"label":"Turn off","command":"/cron off tea"},{"label":"Show","command":"/cron show tea"}]}`),
		}
		id := daemon.AddMessage(message)
		daemon.Publish(pluginsdk.EventThreadMessage, clienttest.Primary, pluginsdk.MessagePayload{
			ThreadID: clienttest.Primary, MessageID: id, Role: message.Role, Kind: message.Kind,
		})
	}
	row("cron", "Old.")
	w := talk(t, daemon)
	w.out.await(t, "harness> Old.\n  [Turn off] /cron off tea\n  [Show] /cron show tea\n")
	w.out.await(t, "you> ")
	row("cron", "New. To turn it off: /cron off tea")
	w.out.await(t, "! New. To turn it off: /cron off tea\n  [Show] /cron show tea\nyou> ")
	row("cron", "Long.\n"+strings.Repeat("line\n", notificationLines)+"To turn it off: /cron off tea")
	w.out.await(t, "line\n  [Turn off] /cron off tea\n  [Show] /cron show tea\n(… 1 lines more)\nyou> ")
	row("", "By the core.")
	w.out.await(t, "! By the core.\nyou> ")
	w.enter(t, "/quit")
	w.leaves(t)
}
