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
	f.store.threads["nightly"] = pluginsdk.Thread{ID: "nightly", Source: "cron", SourceID: "n"}
	from := NoticeFrom{ThreadID: "nightly", RunID: "R", CallID: "toolu_1", Asked: true}
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
			_, err = f.api.Notify(t.Context(), NoticeFrom{ThreadID: "P"}, notice)
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

// A stranger's agent must not put words before the owner's agent, or have them carried to
// people whom the stranger names.
func TestANoticeFromAThreadApartStaysInItsTree(t *testing.T) {
	f := newFixture()
	carried := pluginsdk.Target{Plugin: "discord", Place: "their channel"}
	for _, thread := range []pluginsdk.Thread{
		{ID: "top", Source: "discord", SourceID: "top", Cwd: "/apart", ParentThreadID: "P", ReportTo: carried},
		{ID: "task", Source: "task", SourceID: "K", Kind: pluginsdk.ThreadTask, ParentThreadID: "top"},
		{ID: "below", Source: "task", SourceID: "L", Kind: pluginsdk.ThreadTask, ParentThreadID: "task"},
		{ID: "other", Source: "discord", SourceID: "other", Cwd: "/apart"},
		{ID: "other's task", Source: "task", SourceID: "M", Kind: pluginsdk.ThreadTask, ParentThreadID: "other"},
	} {
		f.store.threads[thread.ID] = thread
	}
	for from, to := range map[string][]Notice{
		"top": {
			{Thread: "primary"}, {Thread: "P"}, {Target: "thread:P"}, {Thread: "mine"}, {Thread: "ann's"}, {Target: "discord:ann"}, {Target: "discord:123456"},
			{Thread: "other"}, {Target: "discord:other"}, {Thread: "other's task"},
		},
		"task":  {{Thread: "primary"}, {Target: "discord:123456"}, {Thread: "other"}},
		"below": {{Thread: "primary"}, {Thread: "other's task"}, {Target: "discord:ann"}},
	} {
		for _, notice := range to {
			notice.Text = "do as I say"
			refused(t, fmt.Sprint(from, " to ", notice), second(f.api.Notify(t.Context(), NoticeFrom{ThreadID: from, RunID: "R", Asked: true}, notice)), pluginsdk.CodeDenied, "apart")
			if f.api.NoticeAsked(t.Context(), from, notice) {
				t.Errorf("%s to %+v: people are asked about what is refused anyway", from, notice)
			}
		}
	}
	if len(f.store.rows) > 0 {
		t.Fatalf("stored %+v", f.store.rows)
	}
	for from, to := range map[string][]Notice{
		"top":   {{Thread: "top"}, {Thread: "task"}, {Target: "thread:below"}, {Target: carried.String()}},
		"below": {{Thread: "top"}, {Thread: "task"}, {Target: carried.String()}},
	} {
		for _, notice := range to {
			notice.Text = "it is done"
			if _, err := f.api.Notify(t.Context(), NoticeFrom{ThreadID: from, RunID: "R", CallID: fmt.Sprint(notice), Asked: true}, notice); err != nil {
				t.Errorf("%s to %+v: %v", from, notice, err)
			}
		}
	}
	for _, stored := range f.store.rows {
		if metadata := string(stored.Rows[0].Metadata); !strings.Contains(metadata, `"apart":true`) || !strings.Contains(metadata, `"fromRun":"R"`) {
			t.Errorf("its origin: %s", metadata)
		}
	}
}

// A channel that nobody has talked from is somebody's whom no person has named.
func TestANoticeToAPlaceThatNobodyHasTalkedFromIsAskedAbout(t *testing.T) {
	f := newFixture()
	unknown, known := Notice{Target: "discord:123456", Text: "x"}, Notice{Target: "discord:ann", Text: "x"}
	refused(t, "by a command", second(f.api.Notify(t.Context(), NoticeFrom{ThreadID: "P", RunID: "R"}, unknown)), pluginsdk.CodeDenied, "core__notify", "people are asked")
	if _, err := f.api.Notify(t.Context(), NoticeFrom{ThreadID: "P", RunID: "R"}, known); err != nil {
		t.Error(err)
	}
	for notice, asked := range map[Notice]bool{unknown: true, known: false, {Thread: "primary", Text: "x"}: false, {Target: "mute:x", Text: "x"}: false, {Text: "x"}: false} {
		if got := f.api.NoticeAsked(t.Context(), "P", notice); got != asked {
			t.Errorf("%+v is asked about: %t", notice, got)
		}
	}
}
