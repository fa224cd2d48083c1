package fake_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
)

func TestThreadsOfTheBot(t *testing.T) {
	s := start(t, fake.Config{NoLimits: true})
	b := s.connect(everything)
	id := s.Say(fake.Said{Channel: s.channel, By: s.anna, Text: "a question"})
	path := "/channels/" + s.channel + "/messages/" + id + "/threads"
	a := s.do("POST", path, object{"name": "An answer", "auto_archive_duration": 1440})
	if a.status != 201 || a.at("id") != id || a.at("parent_id") != s.channel || a.at("type") != 11.0 {
		t.Fatalf("the thread is %v", a)
	}
	if d := b.expect(0, "THREAD_CREATE"); d["id"] != id || d["newly_created"] != true {
		t.Errorf("the bot was told %v", d)
	}
	if d := b.expect(0, "MESSAGE_UPDATE"); d["edited_timestamp"] != nil || d["thread"] == nil {
		t.Errorf("the message it began with became %v", d)
	}
	if a := s.do("POST", path, object{"name": "Another"}); a.at("code") != 160004.0 {
		t.Errorf("a second thread of the message: %v", a)
	}
	if a := s.do("POST", path, object{"name": "Another", "auto_archive_duration": 61}); a.status != 400 {
		t.Errorf("a duration that is none: %v", a)
	}
	active := func() int { return len(s.do("GET", "/guilds/"+s.guild+"/threads/active", nil).at("threads").([]any)) }
	if active() != 1 {
		t.Errorf("%d threads are active, not 1", active())
	}
	s.SetThread(fake.ThreadState{Thread: id, Archived: true})
	if active() != 0 {
		t.Errorf("an archived thread is active")
	}
	if a := s.do("POST", "/channels/"+id+"/messages", object{"content": "x"}); a.status != 200 || active() != 1 {
		t.Errorf("a message does not open the thread again: %v", a)
	}
	s.Deny(s.channel, fake.MaySendInThreads)
	if a := s.do("POST", "/channels/"+id+"/messages", object{"content": "x"}); a.at("code") != 50013.0 {
		t.Errorf("a thread has not the permissions of its channel: %v", a)
	}
}

func TestPostsOfForums(t *testing.T) {
	s := start(t, fake.Config{NoLimits: true})
	forum := s.AddChannel(fake.NewChannel{Guild: s.guild, Name: "ideas", Kind: fake.KindForum})
	b := s.connect(everything)
	a := s.do("POST", "/channels/"+forum+"/threads", object{"name": "A post", "message": object{"content": "first"}})
	if a.status != 201 || a.at("message.content") != "first" || a.at("message.id") != a.at("id") {
		t.Fatalf("the post is %v", a)
	}
	b.expect(0, "THREAD_CREATE")
	b.expect(0, "MESSAGE_CREATE")
	id := s.AddThread(fake.NewThread{Channel: forum, Name: "Theirs", By: s.anna, Text: "hello"})
	if d := b.expect(0, "MESSAGE_CREATE"); d["id"] != id || d["channel_id"] != id || d["content"] != "hello" {
		t.Errorf("the bot was told %v", d)
	}
	if a := s.do("POST", "/channels/"+forum+"/messages", object{"content": "x"}); a.status != 400 {
		t.Errorf("a message in the forum itself: %v", a)
	}
	if s.rules() != nil {
		t.Errorf("the breaches are %v", s.Breaches())
	}
}

func TestReactionsComeAndGo(t *testing.T) {
	s := start(t, fake.Config{NoLimits: true})
	b := s.connect(everything)
	id := s.Say(fake.Said{Channel: s.channel, Text: "x"})
	path := "/channels/" + s.channel + "/messages/" + id + "/reactions/"
	if a := s.do("PUT", path+"%F0%9F%91%80/@me", nil); a.status != 204 {
		t.Fatalf("an eye: %v", a)
	}
	s.React(id, s.anna, "👀")
	b.expect(0, "MESSAGE_REACTION_ADD")
	if d := b.expect(0, "MESSAGE_REACTION_ADD"); d["user_id"] != s.anna {
		t.Errorf("the bot was told %v", d)
	}
	s.do("DELETE", path+"%F0%9F%91%80/@me", nil)
	if got := fmt.Sprint(s.Messages(s.channel)[0].Reactions); got != "map[👀:["+s.anna+"]]" {
		t.Errorf("people see %s", got)
	}
	if a := s.do("PUT", path+"eyes/@me", nil); a.at("code") != 10014.0 || s.rules()[0] != fake.RuleEmoji {
		t.Errorf("a word: %v %v", a, s.rules())
	}
}

func TestASlowAnswerIsDoneFirst(t *testing.T) {
	s := start(t, fake.Config{})
	s.Break(fake.Fault{Route: "POST /channels/**", Kind: fake.FaultSlow, Delay: time.Hour, Times: 1})
	go func() { _, _ = s.try("POST", "/channels/"+s.channel+"/messages", object{"content": "x"}) }()
	s.until("the message is there", func() bool { return len(s.Messages(s.channel)) == 1 })
}
