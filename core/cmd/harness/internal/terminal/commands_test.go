package terminal

import (
	"testing"

	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A slash alone asks what there is: it must cost no turn of the agent, and be no answer to
// what it asks.
func TestASlashListsTheCommands(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("Re: " + turn.Said) })
	daemon.AddCommand(pluginsdk.Command{CommandSpec: pluginsdk.CommandSpec{
		Name: "stop", Usage: "/stop [all]", Description: "stop the turn", Options: []pluginsdk.CommandOption{{Name: "all", Type: pluginsdk.OptionFlag, Named: true}},
	}})
	daemon.AddCommand(pluginsdk.Command{Plugin: "shop", CommandSpec: pluginsdk.CommandSpec{
		Name: "buy", Usage: "/stop what", Description: "buy\nit", Options: []pluginsdk.CommandOption{
			{Name: "price", Type: pluginsdk.OptionNumber, Named: true, Description: "the most that it may cost"},
			{Name: "gift", Type: pluginsdk.OptionFlag, Named: true},
			{Name: "what", Type: pluginsdk.OptionChoice, Required: true, Choices: []string{"fruit", "bread"}},
		},
	}})
	daemon.AddCommand(pluginsdk.Command{Plugin: "shop", CommandSpec: pluginsdk.CommandSpec{Name: "*", Description: "any"}})
	asked, _ := daemon.AddApproval(toolQuestion)
	w := talk(t, daemon)
	w.out.await(t, "/later> ")
	w.enter(t, " / ")
	w.out.await(t, "/later> /buy [price=NUMBER] [gift] WHAT - buy it (shop)\n"+
		"  price: the most that it may cost\n"+
		"  what: fruit, bread\n"+
		"/later - put off what the agent asks\n"+
		"/now - take up again what was put off\n"+
		"/quit - leave; what you asked for goes on\n"+
		"/stop [all] - stop the turn\n"+
		"1-3, y, n WORDS, /later> ")
	w.enter(t, "/quit")
	w.leaves(t)
	answers(t, daemon)
	if said := daemon.Said(); len(said) > 0 || daemon.Approval(asked.ID).State != pluginsdk.ApprovalOpen {
		t.Errorf("said %q, and the question is %s", said, daemon.Approval(asked.ID).State)
	}
}
