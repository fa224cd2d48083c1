package hostapi

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// newsroom has plugins that answer OnCron, and remembers on whose behalf they were asked.
type newsroom struct {
	grants

	behalf ledger.Behalf
}

func (n *newsroom) AskCron(_ context.Context, behalf ledger.Behalf, plugin string, question pluginsdk.CronQuestion) (pluginsdk.OnCronResponse, error) {
	n.behalf = behalf
	return pluginsdk.OnCronResponse{News: true, Text: plugin + " of " + question.Job}, nil
}

// What a plugin asks another for a scheduled job is known to be asked inside of a call, by what the core knows of
// the call; what it asks of its own accord is nobody's. Questions are bounded before the other plugin gets them.
func TestAQuestionOfAScheduledJobIsPartOfWhatItIsAskedIn(t *testing.T) {
	f, asked := newFixture(pluginsdk.CapCronsWrite), &newsroom{}
	f.api.Grants = asked
	ask := func(ctx context.Context, request pluginsdk.AskCronRequest) (*pluginsdk.AskCronResponse, error) {
		return f.Crons.Ask(ctx, &request)
	}
	request := pluginsdk.AskCronRequest{Plugin: "mail", Question: pluginsdk.CronQuestion{JobID: "7", Job: "inbox"}}
	if got, err := ask(t.Context(), request); err != nil || !got.News || got.Text != "mail of inbox" || asked.behalf != (ledger.Behalf{}) {
		t.Errorf("of its own accord: %+v %v, on behalf of %+v", got, err, asked.behalf)
	}
	behalf := ledger.Behalf{RunID: "R", Attempt: 2, Depth: 4}
	ctx, token := f.within(t, behalf)
	behalf.Token = token
	if _, err := ask(ctx, request); err != nil || asked.behalf != behalf {
		t.Errorf("inside: %v, on behalf of %+v, want %+v", err, asked.behalf, behalf)
	}
	f.tokens.Close(token)
	if _, err := ask(ctx, request); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Errorf("after the call's end: %v", err)
	}
	long := request
	long.Question.Data = strings.Repeat("x", pluginsdk.MaxCronText+1)
	refused(t, "data", second(ask(t.Context(), long)), pluginsdk.CodeInvalid, "data: at most")
	refused(t, "plugin", second(ask(t.Context(), pluginsdk.AskCronRequest{})), pluginsdk.CodeInvalid, "plugin: ")
}

// A name that people cannot type, or take for another one's, is refused whoever makes the job, before anything is stored.
func TestNamesOfScheduledJobsAreRefused(t *testing.T) {
	f := newFixture(pluginsdk.CapCronsWrite)
	save := func(name string) error {
		_, err := f.Crons.Save(t.Context(), &pluginsdk.SaveCronRequest{Spec: pluginsdk.CronSpec{Name: name, Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "x", Missed: pluginsdk.MissedRun}})
		return err
	}
	for name, want := range map[string]string{
		"": "needs one", " tea": "a space", "tea ": "a space", "tea\nfor two": "line break", "t\u200bea": "not seen", "tea | x": "|", "tea\xff": "not seen", "tea\x00": "not seen",
	} {
		refused(t, name, save(name), pluginsdk.CodeInvalid, "name: ", want)
	}
	for _, name := range []string{"tea", "Tee für zwei", "晨间摘要"} {
		if err := save(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
