package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Doctor returns what the daemon finds when it looks at everything.
func (c *Client) Doctor(ctx context.Context) ([]pluginsdk.Check, error) {
	var answer struct {
		Checks []pluginsdk.Check `json:"checks"`
	}
	err := c.patient().get(ctx, "/api/doctor", nil, &answer)
	return answer.Checks, err
}

// Audit returns the newest entries of the audit log, at most query.Limit, newest first.
func (c *Client) Audit(ctx context.Context, query pluginsdk.AuditQuery) ([]pluginsdk.AuditEntry, error) {
	values := url.Values{"limit": {strconv.Itoa(query.Limit)}}
	for name, value := range map[string]string{"who": query.Who, "action": query.Action, "target": query.Target, "before": query.Before} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if !query.Since.IsZero() {
		values.Set("since", query.Since.UTC().Format(time.RFC3339Nano))
	}
	var answer struct {
		Entries []pluginsdk.AuditEntry `json:"entries"`
	}
	err := c.get(ctx, "/api/audit", values, &answer)
	return answer.Entries, err
}

// SetPause holds back what plugins start, or lets it go on, and returns how it was.
func (c *Client) SetPause(ctx context.Context, paused bool) (was pluginsdk.Pause, err error) {
	var answer struct {
		Was pluginsdk.Pause `json:"was"`
	}
	err = c.post(ctx, "/api/pause", map[string]bool{"paused": paused}, &answer)
	return answer.Was, err
}

// MakeBackup has the daemon make a backup, which may take minutes, and keeps it there.
func (c *Client) MakeBackup(ctx context.Context) (pluginsdk.Backup, error) {
	var made pluginsdk.Backup
	err := c.patient().post(ctx, "/api/backups", struct{}{}, &made)
	return made, err
}

// FetchBackup writes a backup's bytes, and compares them with what MakeBackup has said of
// them. progress is told how many bytes have come.
func (c *Client) FetchBackup(ctx context.Context, backup pluginsdk.Backup, to io.Writer, progress func(done int64)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.address("/api/backups/"+url.PathEscape(backup.Name), nil), nil)
	if err != nil {
		return fmt.Errorf("build the request: %w", err)
	}
	response, err := c.patient().ask(ctx, request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	sum, done := sha256.New(), int64(0)
	into, part := io.MultiWriter(to, sum), make([]byte, 256<<10)
	for {
		n, err := response.Body.Read(part)
		if _, err := into.Write(part[:n]); err != nil {
			return err
		}
		done += int64(n)
		progress(done)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("the backup %s broke off after %d of %d bytes: %w", backup.Name, done, backup.Size, c.unreachable(ctx, err))
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); done != backup.Size || got != backup.SHA256 {
		return fmt.Errorf("the backup %s did not arrive as it was made: %d bytes of %d, sha256 %s instead of %s", backup.Name, done, backup.Size, got, backup.SHA256)
	}
	return nil
}

// DeleteBackup removes a backup from the daemon's machine; an absent one is no error.
func (c *Client) DeleteBackup(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, "/api/backups/"+url.PathEscape(name), nil, nil, nil)
}

// ThreadPage returns a page of threads, oldest first; an empty one is the end.
func (c *Client) ThreadPage(ctx context.Context, after string, limit int) ([]pluginsdk.Thread, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if after != "" {
		query.Set("after", after)
	}
	var page struct {
		Threads []pluginsdk.Thread `json:"threads"`
	}
	err := c.get(ctx, "/api/threads", query, &page)
	return page.Threads, err
}

// MessagePage returns a page of a thread's messages, oldest first; an empty one is the end.
func (c *Client) MessagePage(ctx context.Context, threadID string, after int64, limit int) ([]pluginsdk.Message, error) {
	return c.messages(ctx, threadID, url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(limit)}}, nil)
}
