package discord

import (
	"context"
	"sync"

	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
)

// channels is what the gateway has told of the places where people write.
type channels struct {
	mu    sync.Mutex
	byID  map[string]wire.Channel
	own   map[string]string            // a guild to the role that is the bot's own
	roles map[string]map[string]string // a guild to the names of its roles
}

func newChannels() *channels {
	c := new(channels)
	c.reset()
	return c
}

// reset forgets everything: the gateway tells anew of what there is.
func (c *channels) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byID, c.own, c.roles = make(map[string]wire.Channel), make(map[string]string), make(map[string]map[string]string)
}

// guild takes in a guild with its channels and active threads, and returns these.
func (c *channels) guild(g wire.Guild, self string) []wire.Channel {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := append(g.Channels, g.Threads...)
	for i := range all {
		all[i].GuildID = g.ID // not in the objects of GUILD_CREATE
		c.byID[all[i].ID] = all[i]
	}
	c.roles[g.ID] = make(map[string]string, len(g.Roles))
	for _, role := range g.Roles {
		c.named(g.ID, role, self)
	}
	return all
}

// roleOf takes in a role that was made or changed.
func (c *channels) roleOf(guild string, role wire.Role, self string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.roles[guild] != nil {
		c.named(guild, role, self)
	}
}

// named takes in a role. The caller holds mu.
func (c *channels) named(guild string, role wire.Role, self string) {
	c.roles[guild][role.ID] = role.Name
	if role.Tags.BotID == self && self != "" {
		c.own[guild] = role.ID
	}
}

func (c *channels) put(channel wire.Channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byID[channel.ID] = channel
}

func (c *channels) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byID, id)
}

// dropGuild forgets a guild that the bot was taken out of.
func (c *channels) dropGuild(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for channel, of := range c.byID {
		if of.GuildID == id {
			delete(c.byID, channel)
		}
	}
	delete(c.roles, id)
	delete(c.own, id)
}

// role is the role that a guild has for the bot alone; who mentions it means the bot.
func (c *channels) role(guild string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own[guild]
}

// roleName is what a guild calls a role; empty: it is not known.
func (c *channels) roleName(guild, id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.roles[guild][id]
}

// known is a channel as far as Discord has told of it.
func (c *channels) known(id string) (wire.Channel, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	channel, ok := c.byID[id]
	return channel, ok
}

// of is a channel by its id. Discord is asked about one that is not known.
func (c *channels) of(ctx context.Context, client *rest.Client, id string) (wire.Channel, error) {
	if channel, ok := c.known(id); ok {
		return channel, nil
	}
	channel, err := client.Channel(ctx, id)
	if err == nil {
		c.put(channel)
	}
	return channel, err
}

// spotOf is a channel as far as it matters who may write there.
func spotOf(channel wire.Channel) spot {
	at := spot{Guild: channel.GuildID, Channel: channel.ID}
	if channel.Thread() {
		at.Parent = channel.ParentID
	}
	return at
}
