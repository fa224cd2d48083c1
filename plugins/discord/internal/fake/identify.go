package fake

import (
	"encoding/json"
	"fmt"
	"strings"
)

// mostTooSoon is how often in a row the bot may identify too soon.
const mostTooSoon = 5

// onIdentify: events/gateway-events#identify.
func (c *conn) onIdentify(d object) {
	s := c.server
	judge := &check{note: func(rule, format string, args ...any) { s.breach(c.where, rule, format, args...) }}
	if d == nil {
		d = object{}
	}
	judge.known("identify", d, "token", "properties", "compress", "large_threshold", "shard", "presence", "intents")
	token := judge.text(d, "", "token", 1, 200, RuleIdentify)
	properties := judge.object(d, "", "properties", RuleIdentify)
	if properties == nil {
		properties = object{}
	}
	judge.known("identify.properties", properties, "os", "browser", "device")
	for _, key := range []string{"os", "browser", "device"} {
		if judge.text(properties, "properties", key, 0, 200, RuleIdentify) == "" {
			judge.note(RuleIdentify, "properties.%s is missing", key)
		}
	}
	judge.number(d, "", "large_threshold", 50, 250, RuleIdentify)
	compress := judge.flag(d, "", "compress", RuleIdentify)
	shard := judge.list(d, "", "shard", 2, RuleIdentify)
	if judge.refusal() != nil {
		c.close(4002, "Decode error.")
		return
	}
	c.as = fmt.Sprint(token, " ", d["intents"])
	if c.as == s.final {
		s.breach(c.where, RuleReconnect, "identifies as it did before a close that was final, with the same token and intents")
	}
	if c.bare(token) != s.config.Token {
		c.close(4004, "Authentication failed.")
		return
	}
	if c.resumes {
		s.breach(c.where, RuleResumeURL, "identifies at the address for resuming, not at that of Get Gateway Bot")
	}
	if len(shard) == 2 && (numberOf(shard[0]) != 0 || numberOf(shard[1]) != 1) {
		s.breach(c.where, RuleIdentify, "the fake has one shard")
		c.close(4010, "Invalid shard.")
		return
	}
	number, ok := d["intents"].(json.Number)
	intents := numberOf(number)
	if !ok || intents < 0 || intents&^intentsKnown != 0 {
		s.breach(c.where, RuleIntents, "the intents %v are not ones that there are", d["intents"])
		c.close(4013, "Invalid intent(s).")
		return
	}
	if compress {
		if c.compress != "" {
			s.breach(c.where, RuleIdentify, "payload compression cannot be used with transport compression")
		} else {
			c.compress = "payload"
		}
	}
	now := s.now()
	if !s.lastInvalid.IsZero() && now.Sub(s.lastInvalid) < s.config.AfterInvalid {
		s.breach(c.where, RuleAfterInvalid, "identifies %v after an invalid session", now.Sub(s.lastInvalid))
	}
	if last := len(s.identifies); last > 0 && now.Sub(s.identifies[last-1]) < s.config.IdentifyEvery {
		// A bot that was started again cannot know of it, and waits a second or more
		// after op 9: only one that insists is at fault.
		if s.tooSoon++; s.tooSoon > mostTooSoon {
			s.breach(c.where, RuleIdentifyRate, "identifies %v after the last time, and for the %dth time", now.Sub(s.identifies[last-1]), s.tooSoon)
		}
		c.invalidate(false)
		return
	}
	s.identifies, s.tooSoon = append(s.identifies, now), 0
	if len(s.identifies) > s.config.SessionStarts {
		s.breach(c.where, RuleIdentifyRate, "more than %d identifies in a day", s.config.SessionStarts)
		c.close(4004, "Authentication failed.")
		return
	}
	if missing := intents & intentsPrivileged; s.config.Privileged < 0 && missing != 0 || s.config.Privileged > 0 && missing&^s.config.Privileged != 0 {
		c.close(4014, "Disallowed intent(s).")
		return
	}
	c.identify = true
	s.begin(c, intents)
}

// bare is a token without "Bot ", which is for HTTP; Discord takes it here as well.
func (c *conn) bare(token string) string {
	bare, prefixed := strings.CutPrefix(token, "Bot ")
	if prefixed {
		c.server.breach(c.where, RuleIdentify, "the token begins with Bot, which is for the header Authorization")
	}
	return bare
}

// onResume: events/gateway-events#resume.
func (c *conn) onResume(d object) {
	s := c.server
	judge := &check{note: func(rule, format string, args ...any) { s.breach(c.where, rule, format, args...) }}
	if d == nil {
		d = object{}
	}
	judge.known("resume", d, "token", "session_id", "seq")
	token := judge.text(d, "", "token", 1, 200, RuleResume)
	id := judge.text(d, "", "session_id", 1, 200, RuleResume)
	seq, ok := judge.number(d, "", "seq", 0, 1<<31, RuleResume)
	if judge.refusal() != nil || !ok {
		s.breach(c.where, RuleResume, "a resume without token, session_id and seq")
		c.close(4002, "Decode error.")
		return
	}
	if c.bare(token) != s.config.Token {
		c.close(4004, "Authentication failed.")
		return
	}
	if !c.resumes {
		s.breach(c.where, RuleResumeURL, "resumes at the address of Get Gateway Bot, not at resume_gateway_url")
	}
	c.identify = true
	s.resume(c, id, seq)
}
