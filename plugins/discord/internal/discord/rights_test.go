package discord

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// rightsOfCommands is what is documented that people need to type commands. A test of
// core/inbox holds it against what the core asks.
func rightsOfCommands(t *testing.T) map[string]pluginsdk.TokenScope {
	t.Helper()
	raw, err := os.ReadFile("../../../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	rights := make(map[string]pluginsdk.TokenScope)
	for _, row := range regexp.MustCompile("(?m)^\\| `(/[^`]+)` \\| (\\w+) \\|").FindAllStringSubmatch(string(raw), -1) {
		rights[row[1]] = pluginsdk.TokenScope(row[2])
	}
	return rights
}

// coreHost refuses commands as the core does, by a table of what they need.
type coreHost struct {
	pluginsdk.Messages
	needs map[string]pluginsdk.TokenScope // by the text
}

func (c coreHost) Submit(ctx context.Context, request *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	if needed := c.needs[request.Submission.Content]; !request.Submission.Scope.Has(needed) && needed != "" {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "needs the right %s, and you have %s", needed, request.Submission.Scope)
	}
	return c.Messages.Submit(ctx, request)
}

// deed is what somebody does by a command.
type deed struct {
	row     string // of the documented table
	text    string
	name    string         // of the slash command
	options map[string]any // of it
}

var deeds = []deed{
	{"/tasks …", "/tasks approve K", "tasks", map[string]any{"word": "approve", "task": "K"}},
	{"/tasks …", "/tasks reject K no", "tasks", map[string]any{"word": "reject", "task": "K", "words": "no"}},
	{"/tasks …", "/tasks cancel K", "tasks", map[string]any{"word": "cancel", "task": "K"}},
	{"/tasks", "/tasks", "tasks", nil},
	{"/thread delete", "/thread delete 1234", "thread", map[string]any{"word": "delete", "value": "1234"}},
	{"/thread instructions", "/thread instructions obey", "thread", map[string]any{"word": "instructions", "value": "obey"}},
	{"/thread ask", "/thread ask none", "thread", map[string]any{"word": "ask", "value": "none"}},
	{"/thread dir", "/thread dir /", "thread", map[string]any{"word": "dir", "value": "/"}},
	{"/thread permission", "/thread permission plan", "thread", map[string]any{"word": "permission", "value": "plan"}},
	{"/thread account", "/thread account work", "thread", map[string]any{"word": "account", "value": "work"}},
	{"/thread …", "/thread archive", "thread", map[string]any{"word": "archive"}},
	{"/delegate", "/delegate build it", "delegate", map[string]any{"task": "build it"}},
	{"/model …", "/model opus", "model", map[string]any{"name": "opus"}},
	{"/plan go MODEL", "/plan go fallback", "plan", map[string]any{"go": true, "with": "fallback"}},
	{"/plan …", "/plan go", "plan", map[string]any{"go": true}},
	{"/stop", "/stop", "stop", nil},
}

var offeredCommands = []pluginsdk.CommandSpec{
	{Name: "tasks", Options: []pluginsdk.CommandOption{
		{Name: "word", Type: pluginsdk.OptionChoice, Choices: []string{"approve", "reject", "cancel"}},
		{Name: "task", Type: pluginsdk.OptionTask}, {Name: "words", Type: pluginsdk.OptionText},
	}},
	{Name: "thread", Options: []pluginsdk.CommandOption{
		{Name: "word", Type: pluginsdk.OptionChoice, Choices: []string{"delete", "instructions", "ask", "dir", "permission", "account", "archive"}},
		{Name: "value", Type: pluginsdk.OptionText},
	}},
	{Name: "delegate", Options: []pluginsdk.CommandOption{{Name: "task", Type: pluginsdk.OptionText, Required: true}}},
	{Name: "model", Options: []pluginsdk.CommandOption{{Name: "name", Type: pluginsdk.OptionModel}}},
	{Name: "plan", Options: []pluginsdk.CommandOption{{Name: "go", Type: pluginsdk.OptionFlag, Named: true}, {Name: "with", Type: pluginsdk.OptionModel}}},
	{Name: "stop"},
}

// crowd is a guild with one person of each kind, and what each may there by a command; empty:
// not even talk.
type crowd struct {
	*world
	people map[string]string // ids
	may    map[string]pluginsdk.TokenScope
	rights map[string]pluginsdk.TokenScope // by the row of a deed
}

// gatherCrowd connects a plugin whose host refuses commands as the core does.
func gatherCrowd(t *testing.T, ownerBySetting bool) crowd {
	w := emptyWorld(t, quick(), nil)
	deciders := w.discord.AddRole(fake.NewRole{Guild: w.guild, Name: "deciders"})
	c := crowd{world: w, people: map[string]string{"owner": w.who.Owner}, may: map[string]pluginsdk.TokenScope{
		"owner": pluginsdk.ScopeAdmin, "worker": pluginsdk.ScopeWork, "approver": pluginsdk.ScopeApprove, "approver by role": pluginsdk.ScopeApprove,
		"talker": pluginsdk.ScopeChat, "approver who may not talk": "", "worker who may not talk": "", "stranger": "",
	}}
	for name := range c.may {
		if name == "owner" {
			continue
		}
		user := fake.NewUser{Name: strings.ReplaceAll(name, " ", "-"), Guilds: []string{w.guild}}
		if name == "approver by role" {
			user.Roles = []string{deciders}
		}
		c.people[name] = w.discord.AddUser(user)
	}
	settings := map[string]any{
		"users":     []string{c.people["talker"], c.people["worker"], c.people["approver"], c.people["approver by role"]},
		"approvers": []string{c.people["approver"], deciders, c.people["approver who may not talk"]},
		"workers":   []string{c.people["worker"], c.people["worker who may not talk"]},
	}
	if ownerBySetting { // who has made the application is then nobody
		c.people["owner"] = w.discord.AddUser(fake.NewUser{Name: "boss", Guilds: []string{w.guild}})
		c.people["maker of the application"], c.may["maker of the application"] = w.who.Owner, ""
		settings["owner"] = c.people["owner"]
	}
	for _, spec := range offeredCommands {
		spec.Description = "does it"
		w.host.AddCommand(pluginsdk.Command{CommandSpec: spec})
	}
	c.rights = rightsOfCommands(t)
	needs := make(map[string]pluginsdk.TokenScope)
	for _, deed := range deeds {
		if c.rights[deed.row] == "" {
			t.Fatalf("docs/operating.md does not say what %s needs", deed.row)
		}
		needs[deed.text] = c.rights[deed.row]
	}
	w.set(settings, w.who.Base)
	plugin := new(Plugin)
	sdk := w.host.As(plugin.Manifest())
	sdk.Messages = coreHost{sdk.Messages, needs}
	w.process = plugin
	w.serve(plugintest.Serve(t, plugin, sdk))
	w.until("the bot is connected", func() bool { return w.discord.State().Ready == 1 })
	for _, spec := range offeredCommands {
		w.offered(w.guild, spec.Name)
	}
	return c
}

// cell is one deed of one person by one way.
type cell struct {
	who, way, channel string
	deed              deed
	key               string // the message or the interaction
}

// ways are the ways in which a command is given, as text or by Discord's own.
var ways = map[string]func(c crowd, by, channel string, deed deed) (key string){
	"typed": func(c crowd, by, channel string, deed deed) string {
		return c.discord.Say(fake.Said{Channel: channel, By: by, Text: "<@" + c.who.Bot + "> " + deed.text})
	},
	"a reply": func(c crowd, by, channel string, deed deed) string {
		posted := c.deliver("said-"+channel+deed.text, 1, channel, pluginsdk.Message{ID: 9, ThreadID: "T", Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Content: "yes?"}, nil)
		return c.discord.Say(fake.Said{Channel: channel, By: by, Text: deed.text, ReplyTo: posted})
	},
	"an edit": func(c crowd, by, channel string, deed deed) string { // of what was not meant for the assistant
		key := c.discord.Say(fake.Said{Channel: channel, By: by, Text: "hello, all"})
		c.discord.Edit(key, "<@"+c.who.Bot+"> "+deed.text)
		return key
	},
	"an edit of a message": func(c crowd, by, channel string, deed deed) string { // which becomes no command
		key := c.discord.Say(fake.Said{Channel: channel, By: by, Text: "<@" + c.who.Bot + "> hello"})
		for who, id := range c.people {
			if id == by && c.may[who] != "" {
				c.said(key)
			}
		}
		c.discord.Edit(key, "<@"+c.who.Bot+"> "+deed.text)
		return key
	},
	"slash": func(c crowd, by, channel string, deed deed) string {
		return c.discord.Slash(fake.Slash{Channel: channel, By: by, Name: deed.name, Options: deed.options})
	},
}

// Whoever may talk may not therefore decide: by whichever way somebody gives a command, it is
// done if they have the right for it, refused in words if they may talk, and nothing else.
func TestACommandIsDoneByWhomItIsFor(t *testing.T) {
	t.Parallel()
	for name, bySetting := range map[string]bool{"the owner of the application": false, "an owner by the settings": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := gatherCrowd(t, bySetting)
			var cells []cell
			for way, give := range ways {
				if bySetting && way != "typed" && way != "slash" {
					continue
				}
				for who, id := range c.people {
					channel := c.discord.AddChannel(fake.NewChannel{Guild: c.guild, Name: "c" + fmt.Sprint(len(cells))})
					for _, deed := range deeds {
						cells = append(cells, cell{who: who, way: way, channel: channel, deed: deed, key: give(c, id, channel, deed)})
					}
					end := c.discord.Say(fake.Said{Channel: channel, By: c.people["owner"], Text: "<@" + c.who.Bot + "> the end"})
					c.said(end) // what was written before has been dealt with
				}
			}
			c.until("nothing is at work", func() bool {
				s := c.process.connected()
				s.lanes.mu.Lock()
				defer s.lanes.mu.Unlock()
				return len(s.lanes.queue) == 0
			})
			for _, cell := range cells {
				c.judge(cell)
			}
			t.Logf("%d cells", len(cells))
		})
	}
}

// judge looks at what has come of a cell.
func (c crowd) judge(cell cell) {
	c.Helper()
	has, needed := c.may[cell.who], c.rights[cell.deed.row]
	talks := has != ""
	done, told := "", c.told(cell)
	for _, said := range c.host.Submissions() {
		if said.Key == cell.key {
			done = fmt.Sprintf("%s with %q", said.Content, said.Scope)
		}
	}
	want := ""
	switch {
	case cell.way == "an edit of a message" && talks:
		want = fmt.Sprintf("hello with %q", has)
	case talks && has.Has(needed):
		want = fmt.Sprintf("%s with %q", cell.deed.text, has)
	}
	at := cell.who + ", " + cell.way + ", " + cell.deed.text
	if done != want {
		c.Errorf("%s: done is %q, want %q (told %q)", at, done, want, told)
	}
	refused := strings.Contains(told, "needs the right "+string(needed))
	if talks && want == "" && !refused || want != "" && refused {
		c.Errorf("%s: told %q", at, told)
	}
	if !talks && cell.way != "slash" && told != "" {
		c.Errorf("%s: a stranger is told %q", at, told)
	}
	if !talks && cell.way == "slash" && told != notForYou {
		c.Errorf("%s: a stranger is told %q", at, told)
	}
}

// told is what the bot has said to somebody's message or command.
func (c crowd) told(cell cell) (said string) {
	if cell.way == "slash" {
		of := c.discord.Interaction(cell.key)
		if of.Original != nil {
			return of.Original.Text
		}
		return ""
	}
	all := c.discord.Messages(cell.channel)
	if i := slices.IndexFunc(all, func(m fake.Message) bool { return m.Bot && m.ReplyTo == cell.key }); i >= 0 {
		return all[i].Text
	}
	return ""
}

// What is decided by a button is decided by those who may decide by typing.
func TestAButtonIsPressedByWhomItIsFor(t *testing.T) {
	t.Parallel()
	c := gatherCrowd(t, false)
	for who, id := range c.people {
		may := c.may[who].Has(pluginsdk.ScopeApprove) || strings.HasSuffix(who, "who may not talk")
		told := notYours
		if c.may[who] == "" {
			told = notForYou
		}
		channel := c.discord.AddChannel(fake.NewChannel{Guild: c.guild, Name: "b"})
		of, card := c.asked(channel, toolAsk)
		pressed := c.discord.Press(card, id, "Allow once")
		if may {
			c.settled(channel, card)
		} else if said := c.whispered(pressed); said != told {
			c.Errorf("%s, of the agent's question: told %q", who, said)
		}
		if got := c.approval(of.ID).State == pluginsdk.ApprovalAllowed; got != may {
			c.Errorf("%s has allowed it: %v, want %v", who, got, may)
		}
		for _, button := range []string{"Accept", "Send back"} {
			task := pluginsdk.Task{ID: "K " + who + button, Status: pluginsdk.TaskWaiting, CurrentIteration: 1, Result: "built"}
			c.host.AddTask(task)
			row := pluginsdk.Message{ID: 8, ThreadID: "T", Kind: pluginsdk.MessageNotification, Content: "K waits",
				Metadata: []byte(fmt.Sprintf(`{"event":"task","task":%q,"status":"waiting","iteration":1}`, task.ID))}
			card := c.deliver("task-"+task.ID, 1, channel, row, nil)
			pressed := c.discord.Press(card, id, button)
			got := c.answered(pressed)
			if !may {
				if said := c.whispered(pressed); said != told || got.Modal != nil {
					c.Errorf("%s, %s: told %q, form %s", who, button, said, got.Modal)
				}
				continue
			}
			if button == "Send back" {
				c.discord.Submit(pressed, map[string]string{"said": "no"})
			}
			c.settled(channel, card)
		}
	}
	decided := 0
	for _, call := range c.host.Calls() {
		if call.Method == "Tasks.Decide" {
			decided++
		}
	}
	if want := 2 * 6; decided != want { // owner, worker, two approvers, and two who may not talk
		c.Errorf("%d words on tasks, want %d", decided, want)
	}
}
