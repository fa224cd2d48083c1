package discord

import (
	"context"
	"fmt"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/slash"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// suggest offers what an option that is being filled in can be.
func (a *act) suggest(ctx context.Context) {
	var offered []*discordgo.ApplicationCommandOptionChoice
	if spec, ok := a.s.offers.known(a.i.Data.Name); ok && a.of.mayTalk(a.s.owner(), a.who, spotOf(a.at)) {
		if option, typed, ok := slash.Focused(spec, a.i.Data); ok {
			owners := a.of.sourceOf(a.s.owner(), a.who, spotOf(a.at)) == sourceOwner
			offered = slash.Suggest(a.s.candidates(ctx, option, typed, owners), typed)
		}
	}
	a.reply(ctx, rest.Offer(offered))
}

// suggested is how many threads and tasks are looked at for suggestions.
const suggested = 100

// candidates are what an option can be. The names of threads and tasks are for the owner's
// places alone: they tell what the owner does elsewhere.
func (s *session) candidates(ctx context.Context, option pluginsdk.CommandOption, typed string, owners bool) (found []slash.Candidate) {
	ctx, cancel := context.WithTimeout(ctx, answerTime/2)
	defer cancel()
	switch {
	case option.Type == pluginsdk.OptionModel:
		for _, model := range []string{"haiku", "sonnet", "opus"} {
			found = append(found, slash.Candidate{Value: model})
		}
	case option.Type == pluginsdk.OptionThread && owners:
		for _, query := range []pluginsdk.ThreadQuery{
			{Order: pluginsdk.ActivityFirst, Limit: suggested},
			{Order: pluginsdk.ActivityFirst, Limit: suggested, Text: typed}, // those of long ago
		} {
			list, err := s.p.host.Threads.List(ctx, &pluginsdk.ListThreadsRequest{Query: query})
			if err != nil {
				return found
			}
			for _, thread := range list.Threads {
				found = append(found, slash.Candidate{Value: thread.ID, Name: thread.Name})
			}
		}
	case option.Type == pluginsdk.OptionTask && owners:
		list, err := s.p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{Newest: true, Limit: suggested}})
		if err != nil {
			return nil
		}
		for _, task := range list.Tasks {
			found = append(found, slash.Candidate{Value: task.ID, Name: fmt.Sprintf("%s: %s", task.Status, task.OriginalMessage)})
		}
	default:
		found = slash.Choices(option)
	}
	return found
}
