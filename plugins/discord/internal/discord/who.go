package discord

import (
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// spot is a place where people write, as far as it matters who may.
type spot struct {
	Guild   string // empty: direct messages
	Channel string // or thread
	Parent  string // of a thread its channel
}

// person is somebody who does something on Discord.
type person struct {
	ID    string
	Name  string
	Roles []string // in the spot's guild
}

// mayTalk reports whether a person may talk to the assistant in a spot. The owner may
// everywhere. With none of the four lists nobody else may. Users and roles say who,
// guilds and channels where; where only one of the two is said, it alone decides. A list of
// places opens no direct messages: these are for users who are named.
func (c *config) mayTalk(owner string, who person, at spot) bool {
	switch {
	case owner != "" && who.ID == owner:
		return true
	case c.ownersAlone(at):
		return false
	case at.Guild == "":
		return slices.Contains(c.Users, who.ID)
	}
	whoIsSaid, whereIsSaid := len(c.Users)+len(c.Roles) > 0, len(c.Guilds)+len(c.Channels) > 0
	if !whoIsSaid && !whereIsSaid {
		return false
	}
	named := !whoIsSaid || slices.Contains(c.Users, who.ID) || common(c.Roles, who.Roles)
	there := !whereIsSaid || slices.Contains(c.Guilds, at.Guild) || slices.Contains(c.Channels, at.Channel) ||
		at.Parent != "" && slices.Contains(c.Channels, at.Parent)
	return named && there
}

// mayApprove reports whether a person may answer what the agent asks and decide about
// tasks: those who are named, by themselves or a role, and those who may have work done; with
// nobody named the owner alone. The owner always may.
func (c *config) mayApprove(owner string, who person) bool {
	return owner != "" && who.ID == owner || slices.Contains(c.Approvers, who.ID) || common(c.Approvers, who.Roles) ||
		slices.Contains(c.Workers, who.ID) || common(c.Workers, who.Roles)
}

// scope returns what a person may who may talk to the assistant: the owner everything, the
// others what the settings say.
func (c *config) scope(owner string, who person) pluginsdk.TokenScope {
	switch {
	case owner != "" && who.ID == owner:
		return pluginsdk.ScopeAdmin
	case slices.Contains(c.Workers, who.ID) || common(c.Workers, who.Roles):
		return pluginsdk.ScopeWork
	case c.mayApprove(owner, who):
		return pluginsdk.ScopeApprove
	}
	return pluginsdk.ScopeChat
}

// ownersAlone reports whether a spot is one that only the owner reads, as the settings say.
func (c *config) ownersAlone(at spot) bool {
	return slices.Contains(c.OwnerChannels, at.Channel) || at.Parent != "" && slices.Contains(c.OwnerChannels, at.Parent)
}

// sourceOf is the source of a spot's thread. The owner's threads have one of their own, so
// that what the assistant knows of its owner is shown in these and no others.
func (c *config) sourceOf(owner string, who person, at spot) string {
	if c.ownersAlone(at) || at.Guild == "" && owner != "" && who.ID == owner {
		return sourceOwner
	}
	return source
}

func common(a, b []string) bool {
	return slices.ContainsFunc(a, func(id string) bool { return slices.Contains(b, id) })
}
