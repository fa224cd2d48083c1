package discord

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// largestFile is how large a file may be that a bot sends, where nothing was paid for more.
// Source: reference#uploading-files.
const largestFile = 10 * megabyte

// files are the files of what is delivered. left says in words which cannot be sent.
func (d *delivery) files(ctx context.Context) (files []*discordgo.File, left string) {
	room := int64(largestFile)
	for _, attachment := range d.request.Message.Attachments {
		id, kept := attachment.FileID()
		shown := text.Escape(text.Name(attachment.Name, nameUnits))
		switch {
		case !kept:
			left = joined(left, "-# file: "+shown)
			continue
		case len(files) == maxFiles-1 || attachment.Size > room:
			left = joined(left, fmt.Sprintf("-# the file %s (%d KB) is too large to be sent here%s", shown, (attachment.Size+1023)/1024, d.inThread()))
			continue
		}
		content, err := d.p.read(ctx, id, attachment.Size)
		if err != nil {
			d.p.host.Log.Warn("a file of a message cannot be sent", "file", id, "err", err)
			left = joined(left, "-# the file "+shown+" cannot be read any more")
			continue
		}
		room -= attachment.Size
		files = append(files, &discordgo.File{Name: attachment.Name, ContentType: attachment.Type, Reader: bytes.NewReader(content)})
	}
	return files, left
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
// go on with one that was stopped; and on a task that waits for a person, their word.
func (d *delivery) offered(ctx context.Context) []discordgo.MessageComponent {
	message := d.request.Message
	if of, ok := noticeOf(message); ok && of.Status == pluginsdk.TaskWaiting {
		found, err := d.p.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: of.Task})
		if err != nil || found.Task.Status != pluginsdk.TaskWaiting {
			return nil
		}
		return wordOnTask(found.Task)
	}
	if message.Kind != pluginsdk.MessageStatus || message.RunID == "" || !d.asked {
		return nil
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

// withoutFooter is what a live message has said, without what stood below it.
func withoutFooter(shown string) string {
	i := strings.LastIndex(shown, "\n")
	if strings.HasPrefix(shown[i+1:], footer) {
		shown = strings.TrimSpace(shown[:max(i, 0)])
	}
	if shown == "" {
		return "-# stopped before anything was said"
	}
	return shown
}
