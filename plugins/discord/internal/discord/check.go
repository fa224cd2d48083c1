package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/gateway"
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What to do about what OnCheck finds.
const (
	tokenRemedy   = "give it with `harness plugin settings set discord token`, or set " + tokenVariable + " in the daemon's environment; docs/discord.md says where it comes from"
	intentRemedy  = "switch on Message Content Intent on the page Bot of the application (discord.com/developers/applications), then `harness plugin disable discord` and `harness plugin enable discord`"
	grantRemedy   = "switch off Requires OAuth2 Code Grant on the page Bot of the application (discord.com/developers/applications); then " + inviteRemedy
	ownerRemedy   = "`harness plugin settings set discord owner=ID`, with the id of your own user"
	channelRemedy = "`harness plugin settings set discord channel=ID`, with the id of a text channel in which the bot may write; " + inviteRemedy
	inviteRemedy  = "`harness discord invite` prints the link with which the bot is invited"
	waitingRemedy = "nothing: it goes on trying"
)

// OnCheck says how the bot stands with Discord.
func (p *Plugin) OnCheck(ctx context.Context, _ *pluginsdk.OnCheckRequest) (*pluginsdk.OnCheckResponse, error) {
	return &pluginsdk.OnCheckResponse{Checks: p.checks(ctx)}, nil
}

func (p *Plugin) checks(ctx context.Context) []pluginsdk.Check {
	of := p.account.Load()
	if of.client == nil {
		return []pluginsdk.Check{{Name: "token", State: pluginsdk.CheckOK, Detail: "not set: the bot is not connected", Remedy: "to use Discord, " + tokenRemedy}}
	}
	s := p.connected()
	if s == nil {
		return []pluginsdk.Check{{Name: "connection", State: pluginsdk.CheckWarning, Detail: "not begun", Remedy: waitingRemedy}}
	}
	checks := []pluginsdk.Check{s.tokenCheck(), s.connectionCheck()}
	if s.seesGateway() {
		checks = append(checks, s.intentCheck(), s.guildCheck())
	}
	if said, remedy := s.offers.problems(); len(said) > 0 {
		checks = append(checks, pluginsdk.Check{Name: "commands", State: pluginsdk.CheckWarning, Detail: strings.Join(said, "; "), Remedy: remedy})
	}
	if of.Channel != "" && s.seesGateway() {
		checks = append(checks, s.channelCheck(ctx, of.Channel))
	}
	if s.owner() == "" && s.application().ID != "" {
		checks = append(checks, pluginsdk.Check{
			Name: "owner", State: pluginsdk.CheckWarning, Detail: "Discord does not tell whose application it is: nobody is the owner",
			Remedy: ownerRemedy,
		})
	}
	return checks
}

func (s *session) tokenCheck() pluginsdk.Check {
	s.mu.Lock()
	defer s.mu.Unlock()
	check := pluginsdk.Check{Name: "token", State: pluginsdk.CheckOK, Detail: "accepted"}
	var refusal *rest.Error
	var fatal *gateway.Fatal
	switch {
	case errors.As(s.failure, &refusal) && refusal.Status == http.StatusUnauthorized,
		errors.As(s.failure, &fatal) && fatal.Code == closedToken:
		check.State, check.Detail = pluginsdk.CheckFailing, "Discord refuses it: it is wrong, or was replaced"
		check.Remedy = "make a new one on the page Bot of the application (Reset Token), and " + tokenRemedy
	case s.app.ID == "":
		check.State, check.Detail, check.Remedy = pluginsdk.CheckWarning, "Discord was not reached yet", waitingRemedy
	default:
		check.Detail = "accepted, of the application " + s.app.Name
	}
	return check
}

func (s *session) connectionCheck() pluginsdk.Check {
	s.mu.Lock()
	defer s.mu.Unlock()
	check := pluginsdk.Check{Name: "connection", State: pluginsdk.CheckOK}
	if s.conn == nil {
		check.State, check.Detail, check.Remedy = pluginsdk.CheckFailing, "none", waitingRemedy
		if s.failure != nil {
			check.Detail = s.failure.Error()
		}
		return check
	}
	status := s.conn.Status()
	if status.Connected {
		check.Detail = fmt.Sprintf("since %s, heartbeats answered after %s, resumed %d times", status.Since.UTC().Format(time.DateTime), status.Latency.Round(time.Millisecond), status.Resumed)
		return check
	}
	check.State, check.Remedy, check.Detail = pluginsdk.CheckFailing, waitingRemedy, "none: "+status.Error
	var fatal *gateway.Fatal
	switch {
	case errors.As(s.failure, &fatal):
		check.Detail, check.Remedy = fatal.Error(), "see the check token, and docs/discord.md"
	case time.Now().Before(status.WaitsUntil):
		check.Detail = "Discord allows no new session before " + status.WaitsUntil.UTC().Format(time.DateTime)
	case status.Error == "":
		check.State, check.Detail = pluginsdk.CheckWarning, "being made"
	}
	return check
}

// closedToken is the gateway's refusal of the token.
const closedToken = 4004

// seesGateway reports whether the bot has been connected in this session.
func (s *session) seesGateway() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn != nil && s.conn.Status().Connected
}

func (s *session) intentCheck() pluginsdk.Check {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.content {
		return pluginsdk.Check{Name: "intents", State: pluginsdk.CheckOK, Detail: "the bot can read what is written in its channels"}
	}
	return pluginsdk.Check{
		Name: "intents", State: pluginsdk.CheckWarning,
		Detail: "Message Content Intent is off: the bot reads direct messages and mentions only", Remedy: intentRemedy,
	}
}

func (s *session) guildCheck() pluginsdk.Check {
	n := len(s.inGuilds())
	if n == 0 && s.application().BotRequireCodeGrant {
		return pluginsdk.Check{Name: "servers", State: pluginsdk.CheckFailing, Detail: "the bot is in none, and cannot be invited: the application demands a code grant", Remedy: grantRemedy}
	}
	if n == 0 {
		return pluginsdk.Check{Name: "servers", State: pluginsdk.CheckWarning, Detail: "the bot is in none: it can be written to directly by those who share a server with it", Remedy: inviteRemedy}
	}
	return pluginsdk.Check{Name: "servers", State: pluginsdk.CheckOK, Detail: fmt.Sprintf("the bot is in %d", n)}
}

// glance is what Discord said of the channel for reports, and when.
type glance struct {
	channel string
	at      time.Time
	is      wire.Channel
	err     error
}

// lookAgain is how long what Discord said of a channel is believed.
const lookAgain = 10 * time.Minute

// channelCheck says whether the channel for reports is there and can be seen. Whether the
// bot may write there only a message shows: it depends on all of its roles.
func (s *session) channelCheck(ctx context.Context, id string) pluginsdk.Check {
	s.mu.Lock()
	looked := s.reports
	s.mu.Unlock()
	if looked.channel != id || time.Since(looked.at) > lookAgain || looked.err != nil {
		looked = glance{channel: id, at: time.Now()}
		looked.is, looked.err = s.client().Channel(ctx, id)
		s.mu.Lock()
		s.reports = looked
		s.mu.Unlock()
	}
	check := pluginsdk.Check{Name: "channel for reports", State: pluginsdk.CheckFailing, Remedy: channelRemedy}
	switch kind := looked.is.Type; {
	case rest.Gone(looked.err):
		check.Detail = "there is no channel " + id
	case rest.Forbidden(looked.err):
		check.Detail = "the bot may not see the channel " + id
	case looked.err != nil:
		check.State, check.Detail, check.Remedy = pluginsdk.CheckWarning, looked.err.Error(), waitingRemedy
	case kind == wire.ChannelCategory || kind == wire.ChannelForum || kind == wire.ChannelMedia:
		check.Detail = "#" + looked.is.Name + " takes no messages: it has channels or threads in it"
	default:
		check.State, check.Detail, check.Remedy = pluginsdk.CheckOK, cmp.Or(looked.is.Name, id), ""
	}
	return check
}

// permissions is what the bot asks for in a server, and no more: to see and read channels
// with what was written there before, to write in them and in threads, to open threads, to
// send files, and to react.
// Source: topics/permissions#permissions-bitwise-permission-flags.
const permissions = 1<<6 | // ADD_REACTIONS
	1<<10 | // VIEW_CHANNEL
	1<<11 | // SEND_MESSAGES
	1<<15 | // ATTACH_FILES
	1<<16 | // READ_MESSAGE_HISTORY
	1<<35 | // CREATE_PUBLIC_THREADS
	1<<38 // SEND_MESSAGES_IN_THREADS

// invitation is the link with which the bot is brought into a server. That it may offer
// commands there is part of being a bot, and is named all the same.
// Source: topics/oauth2#bot-authorization-flow, #shared-resources-oauth2-scopes.
func invitation(app wire.Application) string {
	return fmt.Sprintf("https://discord.com/oauth2/authorize?client_id=%s&scope=bot%%20applications.commands&permissions=%d", app.ID, permissions)
}

// OnCommand answers /discord.
func (p *Plugin) OnCommand(ctx context.Context, given *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	if given.Name != name {
		return &pluginsdk.OnCommandResponse{}, nil
	}
	reply := ""
	switch what := strings.ToLower(strings.TrimSpace(given.Body)); what {
	case "invite":
		app, err := p.application(ctx)
		if err != nil {
			return nil, err
		}
		reply = "Open this link, signed in to Discord, and pick a server:\n" + invitation(app)
	case "status":
		reply = status(p.checks(ctx))
	default:
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "/discord %s: want `/discord invite`, which prints the link to invite the bot, or `/discord status`, which says how it stands with Discord", what)
	}
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: reply}, nil
}

// application is the bot's own, asked for if it is not known yet.
func (p *Plugin) application(ctx context.Context) (wire.Application, error) {
	of := p.account.Load()
	if of.client == nil {
		return wire.Application{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the bot has no token yet: %s", tokenRemedy)
	}
	if s := p.connected(); s != nil {
		if app := s.application(); app.ID != "" {
			return app, nil
		}
	}
	app, err := of.client.Application(ctx)
	if err != nil {
		return app, pluginsdk.Errorf(rest.Code(err), "ask Discord whose bot it is: %w", err)
	}
	return app, nil
}

// status is the checks as a list for people.
func status(checks []pluginsdk.Check) string {
	var lines []string
	for _, check := range checks {
		line := fmt.Sprintf("- %s: %s", check.Name, check.State)
		if check.Detail != "" {
			line += ", " + check.Detail
		}
		if check.Remedy != "" && check.State != pluginsdk.CheckOK {
			line += ". To do: " + check.Remedy
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
