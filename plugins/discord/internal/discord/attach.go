package discord

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	chunk    = 1 << 20 // of a file at a time
	megabyte = 1 << 20
	maxFiles = 10 // of a message; Discord has no more
)

// attachments takes in the files of a message, those of what it forwards with them. left
// says in words what was not taken in, and why.
func (s *session) attachments(ctx context.Context, of *account, message wire.Message, threadID string, who person) (taken []pluginsdk.Attachment, left string, err error) {
	files := message.Attachments
	for _, snapshot := range message.Snapshots {
		files = append(files, snapshot.Message.Attachments...)
	}
	leave := func(file wire.Attachment, why string) {
		left = joined(left, fmt.Sprintf("[the file %s was not taken in: %s]", text.Name(file.Filename, nameUnits), why))
	}
	limit := int64(of.MaxFileMB) * megabyte
	for i, file := range files {
		switch {
		case i >= maxFiles:
			leave(file, fmt.Sprintf("a message has at most %d", maxFiles))
			continue
		case file.Size > limit:
			leave(file, fmt.Sprintf("it has %d MB, and at most %d MB are taken", (file.Size+megabyte-1)/megabyte, of.MaxFileMB))
			continue
		}
		stored, err := s.takeFile(ctx, file, limit, threadID, who)
		var refusal *rest.Error
		switch code := pluginsdk.CodeOf(err); {
		case err == nil:
			taken = append(taken, stored.Attachment())
		case errors.As(err, &refusal) && !rest.Passing(err):
			leave(file, "Discord does not give it")
		case code == pluginsdk.CodeExhausted || code == pluginsdk.CodeInvalid:
			leave(file, err.Error())
		default:
			return nil, "", err
		}
	}
	return taken, left, nil
}

// takeFile brings a file from Discord to Harness, a part at a time.
func (s *session) takeFile(ctx context.Context, file wire.Attachment, limit int64, threadID string, who person) (stored pluginsdk.File, err error) {
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
	for offset := int64(0); ; {
		n, end := io.ReadFull(content, part)
		if n > 0 {
			sum.Write(part[:n])
			if _, err := files.Write(ctx, &pluginsdk.WriteFileRequest{UploadID: begun.UploadID, Offset: offset, Data: part[:n]}); err != nil {
				return stored, err
			}
			offset += int64(n)
		}
		if errors.Is(end, io.EOF) || errors.Is(end, io.ErrUnexpectedEOF) {
			break
		}
		if end != nil {
			return stored, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "fetch the file %s: %w", file.Filename, end)
		}
	}
	done, err := files.Commit(ctx, &pluginsdk.CommitFileRequest{UploadID: begun.UploadID, SHA256: hex.EncodeToString(sum.Sum(nil))})
	if err != nil {
		return stored, err
	}
	return done.File, nil
}
