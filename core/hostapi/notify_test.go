package hostapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What an agent that works on a schedule finds out is of use only if it can tell
// somebody: the primary thread, another one, or a channel.
func TestANoticeReachesItsPeople(t *testing.T) {
	f := newFixture()
	from := NoticeFrom{ThreadID: "nightly", RunID: "R", CallID: "toolu_1"}
	for _, c := range []struct {
		notice Notice
		thread string
	}{
		{Notice{Thread: "primary", Text: "the disk is full"}, "P"},
		{Notice{Thread: "ann's", Text: "the disk is full"}, "ann's"},
		{Notice{Target: "thread:ann's", Text: "the disk is full"}, "ann's"},
		{Notice{Target: "discord:general", Text: "the disk is full"}, "discord/general"},
	} {
		f.outbox.woken, f.store.rows, f.events.kinds = nil, nil, nil
		made, err := f.api.Notify(t.Context(), from, c.notice)
		if err != nil || made.ThreadID != c.thread {
			t.Errorf("%+v: %+v, %v", c.notice, made, err)
			continue
		}
		stored := f.store.rows[0]
		row := stored.Rows[0]
		if row.Role != pluginsdk.RoleSystem || row.Kind != pluginsdk.MessageNotification || row.Content != "the disk is full" ||
			string(row.Metadata) != `{"event":"notify","fromThread":"nightly","fromRun":"R"}` {
			t.Errorf("row %+v, metadata %s", row, row.Metadata)
		}
		if !stored.Deliver || stored.Plugin != "" || stored.RunID != "" || stored.Key != "R:notify:toolu_1" {
			t.Errorf("stored %+v", stored)
		}
		if !slices.Equal(f.outbox.woken, []string{"discord:" + c.thread}) || len(f.events.kinds) != 1 {
			t.Errorf("carried %v, broadcast %v", f.outbox.woken, f.events.kinds)
		}
	}
	if _, err := f.api.Notify(t.Context(), NoticeFrom{}, Notice{Thread: "primary", Text: "x"}); err != nil || f.store.rows[1].Key != "" {
		t.Errorf("of no run: %v, key %q", err, f.store.rows[1].Key)
	}
}

// An agent that addresses nobody must hear of it, or it believes that it has told.
func TestANoticeToNobodyIsRefused(t *testing.T) {
	f := newFixture()
	for name, c := range map[string]struct {
		input string
		code  pluginsdk.Code
		word  string
	}{
		"nothing":       {`{"text":"x"}`, pluginsdk.CodeInvalid, "one of the two"},
		"both":          {`{"text":"x","thread":"primary","target":"discord:x"}`, pluginsdk.CodeInvalid, "one of the two"},
		"no text":       {`{"text":" ","thread":"primary"}`, pluginsdk.CodeInvalid, "text"},
		"long":          {`{"text":"` + strings.Repeat("x", maxNotice+1) + `","thread":"primary"}`, pluginsdk.CodeInvalid, "text"},
		"another field": {`{"text":"x","threads":["primary"]}`, pluginsdk.CodeInvalid, `"target": "PLUGIN:PLACE"`},
		"no JSON":       {`primary: x`, pluginsdk.CodeInvalid, "want"},
		"no thread":     {`{"text":"x","thread":"nowhere"}`, pluginsdk.CodeNotFound, "nowhere"},
		"no target":     {`{"text":"x","target":"#general"}`, pluginsdk.CodeInvalid, "discord:CHANNEL"},
		"no plugin":     {`{"text":"x","target":"nobody:x"}`, pluginsdk.CodeInvalid, "nobody"},
		"mute":          {`{"text":"x","target":"mute:x"}`, pluginsdk.CodeInvalid, "target: the plugin mute"},
	} {
		notice, err := ParseNotice([]byte(c.input))
		if err == nil {
			_, err = f.api.Notify(t.Context(), NoticeFrom{ThreadID: "T"}, notice)
		}
		refused(t, name, err, c.code, c.word)
	}
	refused(t, "unchecked", second(f.api.Notify(t.Context(), NoticeFrom{}, Notice{Text: "x"})), pluginsdk.CodeInvalid)
	if len(f.store.rows) > 0 {
		t.Errorf("stored %+v", f.store.rows)
	}
}

// An agent that goes round in circles must not fill a channel of people who never
// asked for it. What is repeated after a fault is not a notice more.
func TestNoticesOfARunAreBounded(t *testing.T) {
	f := newFixture()
	give := func(run string, call int) error {
		return second(f.api.Notify(t.Context(), NoticeFrom{RunID: run, CallID: fmt.Sprint(call)}, Notice{Thread: "primary", Text: "x"}))
	}
	for n := range maxNotices {
		if err := give("R", n); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, "one more", give("R", maxNotices), pluginsdk.CodeExhausted, "32 times", "the reply")
	if err := give("R", 0); err != nil {
		t.Errorf("a repetition: %v", err)
	}
	for n := range runsNoticed {
		if err := give(fmt.Sprint("other", n), 0); err != nil {
			t.Errorf("another run: %v", err)
		}
	}
	if known := len(f.api.noticing.runs); known != runsNoticed {
		t.Errorf("%d runs are remembered", known)
	}
}

func TestANoticeAsACommand(t *testing.T) {
	want := Notice{Thread: "primary", Text: "the disk is full"}
	for _, c := range []struct {
		body       string
		attributes map[string]string
	}{
		{`{"thread":"primary","text":"the disk is full"}`, nil},
		{"\nthe disk is full\n", map[string]string{"thread": "primary"}},
	} {
		if got, err := NoticeOfCommand(c.body, c.attributes); err != nil || got != want {
			t.Errorf("%q: %+v, %v", c.body, got, err)
		}
	}
	refused(t, "nothing", second(NoticeOfCommand("x", map[string]string{"to": "primary"})), pluginsdk.CodeInvalid)
}
