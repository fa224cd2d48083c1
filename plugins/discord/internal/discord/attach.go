package discord

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	chunk    = 1 << 20 // of a file at a time
	megabyte = 1 << 20
	maxFiles = 10 // of a message; Discord has no more
	// fileTries is how often a file is asked for that Discord does not give, before it is
	// left out; fileTime bounds each.
	fileTries = 5
	fileTime  = 5 * time.Minute
)

// intakeFiles is how far the files of a message have been taken in.
type intakeFiles struct {
	taken []pluginsdk.Attachment
	left  string // what was not taken in, and why
	begun bool
	todo  []wire.Attachment
	tries int // of the first one of todo
}

// attachments takes in the files of a message. left says in words what was not taken in,
// and why.
func (s *session) attachments(ctx context.Context, of *account, message wire.Message, threadID string, who person) (taken []pluginsdk.Attachment, left string, err error) {
	var files intakeFiles
	err = s.takeFiles(ctx, &files, of, message, threadID, who)
	return files.taken, files.left, err
}

// fitting are the files of a message, those of what it forwards with them, which may be
// taken in; left says of the others why not.
func fitting(of *account, message wire.Message) (files []wire.Attachment, left string) {
	all := slices.Clone(message.Attachments)
	for _, snapshot := range message.Snapshots {
		all = append(all, snapshot.Message.Attachments...)
	}
	for i, file := range all {
		switch {
		case i >= maxFiles:
			left = joined(left, leftOut(file, fmt.Sprintf("at most %d files of a message are", maxFiles)))
		case file.Size > int64(of.MaxFileMB)*megabyte:
			left = joined(left, leftOut(file, fmt.Sprintf("it has %d MB, and at most %d MB are", (file.Size+megabyte-1)/megabyte, of.MaxFileMB)))
		default:
			files = append(files, file)
		}
	}
	return files, left
}

// leftOut says that a file was not taken in.
func leftOut(file wire.Attachment, why string) string {
	return fmt.Sprintf("[the file %s was not taken in: %s]", text.Name(file.Filename, nameUnits), why)
}

// takeFiles takes in the files of a message that are not taken in yet. After an error that
// may pass it is called again.
func (s *session) takeFiles(ctx context.Context, files *intakeFiles, of *account, message wire.Message, threadID string, who person) error {
	if !files.begun {
		files.todo, files.left = fitting(of, message)
		files.begun = true
	}
	for len(files.todo) > 0 {
		file := files.todo[0]
		stored, err := s.takeFile(ctx, file, int64(of.MaxFileMB)*megabyte, threadID, who)
		files.tries++
		var refusal *rest.Error
		switch code := pluginsdk.CodeOf(err); {
		case err == nil:
			files.taken = append(files.taken, stored.Attachment())
		case ctx.Err() != nil:
			return err
		case errors.Is(err, rest.ErrTooLarge):
			files.left = joined(files.left, leftOut(file, fmt.Sprintf("it has more than the %d MB that are", of.MaxFileMB)))
		case errors.As(err, &refusal) && (!rest.Passing(err) || files.tries >= fileTries):
			s.p.host.Log.Warn("Discord does not give a file", "channel", message.ChannelID, "message", message.ID, "err", err)
			files.left = joined(files.left, leftOut(file, "Discord does not give it"))
		case code == pluginsdk.CodeExhausted || code == pluginsdk.CodeInvalid || code == pluginsdk.CodeDenied:
			files.left = joined(files.left, leftOut(file, err.Error()))
		default:
			return err
		}
		files.todo, files.tries = files.todo[1:], 0
	}
	return nil
}

// takeFile brings a file from Discord to Harness, a part at a time.
func (s *session) takeFile(ctx context.Context, file wire.Attachment, limit int64, threadID string, who person) (stored pluginsdk.File, err error) {
	ctx, cancel := context.WithTimeout(ctx, fileTime)
	defer cancel()
	content, size, err := s.client().Download(ctx, file.URL, limit)
	if err != nil {
		return stored, err
	}
	defer func() { _ = content.Close() }()
	if size < 0 {
		size = file.Size
	}
	files := s.p.host.Files
	begun, err := files.Begin(ctx, &pluginsdk.BeginFileRequest{Name: file.Filename, Size: size, ThreadID: threadID, Author: who.Name})
	if err != nil {
		return stored, err
	}
	sum, part := sha256.New(), make([]byte, chunk)
	offset := int64(0)
	for {
		n, end := io.ReadFull(content, part)
		if n > 0 {
			sum.Write(part[:n])
			if _, err := files.Write(ctx, &pluginsdk.WriteFileRequest{UploadID: begun.UploadID, Offset: offset, Data: part[:n]}); err != nil {
				return stored, err
			}
			offset += int64(n)
		}
		switch {
		case errors.Is(end, rest.ErrTooLarge):
			return stored, end
		case end != nil && offset < size:
			return stored, &rest.Error{Message: "the file broke off: " + end.Error()}
		case end == nil:
			continue
		}
		break
	}
	done, err := files.Commit(ctx, &pluginsdk.CommitFileRequest{UploadID: begun.UploadID, SHA256: hex.EncodeToString(sum.Sum(nil))})
	if err != nil {
		return stored, err
	}
	return done.File, nil
}
