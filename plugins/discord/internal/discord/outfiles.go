package discord

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// largestFile is how large a file may be that a bot sends, where nothing was paid for more.
// Source: reference#uploading-files.
const largestFile = 10 * megabyte

// parts is what is delivered, as Discord's messages: one at least.
func (d *delivery) parts(ctx context.Context) ([]rest.Message, error) {
	said := d.request.Message.Content
	files, left, err := d.files(ctx)
	if err != nil {
		return nil, err
	}
	if of, ok := noticeOf(d.request.Message); ok {
		left = joined(left, d.of.taskLine(of))
	}
	left = joined(left, actionLines(d.request.Message))
	cut := text.Split(joined(said, left), text.Limit)
	if d.of.LongReplies == longAsFile && len(cut) >= max(d.of.LongerThan, 2) {
		cut = text.Split(joined(text.Summary(said), "-# the whole answer is in the file", left), text.Limit)
		files = append([]*discordgo.File{wholeAnswer(said)}, files...)
	}
	if len(cut) == 0 && len(files) == 0 {
		cut = []string{"-# (nothing to show)"}
	}
	parts := make([]rest.Message, max(len(cut), 1))
	for i, words := range cut {
		parts[i].Content = words
	}
	end := &parts[len(parts)-1]
	end.Files, end.Components = files, d.offered(ctx)
	return parts, nil
}

// files are the files of what is delivered. left says in words which cannot be sent.
func (d *delivery) files(ctx context.Context) (files []*discordgo.File, left string, err error) {
	room := int64(largestFile)
	for _, attachment := range d.request.Message.Attachments {
		id, kept := attachment.FileID()
		shown := text.Escape(text.Name(attachment.Name, nameUnits))
		why := ""
		switch {
		case !kept:
			left = joined(left, "-# file: "+shown)
			continue
		case attachment.Size == 0:
			why = "is empty"
		case len(files) == maxFiles-1: // one place is for the whole answer
			why = fmt.Sprintf("is not sent: a message has at most %d%s", maxFiles-1, d.inThread())
		case attachment.Size > room:
			why = fmt.Sprintf("(%d KB) is too large to be sent here%s", (attachment.Size+1023)/1024, d.inThread())
		}
		if why == "" {
			content, err := d.p.read(ctx, id, attachment.Size)
			switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others may pass
			case "":
				room -= attachment.Size
				files = append(files, &discordgo.File{Name: fileName(attachment.Name), ContentType: attachment.Type, Reader: bytes.NewReader(content)})
				continue
			case pluginsdk.CodeNotFound, pluginsdk.CodeInvalid, pluginsdk.CodeDenied:
				d.p.host.Log.Warn("a file of a message cannot be sent", "file", id, "err", err)
				why = "is not kept any more"
			default:
				return nil, "", err
			}
		}
		left = joined(left, "-# the file "+shown+" "+why)
	}
	return files, left, nil
}

// fileName is a name that a file can have in Discord.
func fileName(given string) string {
	if shown := text.Name(path.Base(given), nameUnits); shown != "" {
		return shown
	}
	return "file"
}

// withoutFiles is a message where the bot may send no files.
func withoutFiles(message rest.Message) rest.Message {
	if len(message.Files) == 0 {
		return message
	}
	line := "-# its files could not be sent here: they are too large, or the bot lacks the permission Attach Files"
	message.Content = joined(text.Clip(message.Content, text.Limit-text.Units(line)-2), line)
	message.Files = nil
	return message
}

// inThread says where else something can be found, if the settings know.
func (d *delivery) inThread() string {
	if d.of.Dashboard == "" {
		return ""
	}
	return ": see " + d.of.link(d.request.Thread.ID)
}

// link is where the dashboard shows a thread.
func (c *config) link(thread string) string { return "<" + c.Dashboard + "/chat/" + thread + ">" }

// read is the bytes of a file that Harness keeps.
func (p *Plugin) read(ctx context.Context, id string, size int64) ([]byte, error) {
	content := make([]byte, 0, size)
	for int64(len(content)) < size {
		part, err := p.host.Files.Read(ctx, &pluginsdk.ReadFileRequest{ID: id, Offset: int64(len(content)), Limit: chunk})
		if err != nil {
			return nil, err
		}
		if len(part.Data) == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		content = append(content, part.Data...)
	}
	return content, nil
}

// wholeAnswer is a very long answer as a file.
func wholeAnswer(said string) *discordgo.File {
	return &discordgo.File{Name: "answer.md", ContentType: "text/markdown; charset=utf-8", Reader: strings.NewReader(said)}
}

// offered are the buttons below what is delivered: to have a run again that failed, or to
// go on with one that was stopped; on a task that waits for a person, their word; and the
// actions of a row of a plugin.
func (d *delivery) offered(ctx context.Context) []discordgo.MessageComponent {
	message := d.request.Message
	if of, ok := noticeOf(message); ok && of.Status == pluginsdk.TaskWaiting {
		found, err := d.p.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: of.Task})
		if err != nil {
			return nil
		}
		return of.words(found.Task)
	}
	if !d.ends || d.run.Channel != d.channel || d.outcome() != failed {
		return actionButtons(message, func(string) bool { return true })
	}
	return buttons(
		discordgo.Button{Label: "Try again", Style: discordgo.SecondaryButton, CustomID: press.ID{Action: press.Retry, Of: message.RunID}.String()},
		discordgo.Button{Label: "Continue", Style: discordgo.SecondaryButton, CustomID: press.ID{Action: press.Continue, Of: message.ThreadID}.String()},
	)
}

// has reports whether a button is among the components.
func has(components []wire.Component, id string) bool {
	for _, component := range components {
		if component.CustomID == id || has(component.Components, id) {
			return true
		}
	}
	return false
}
