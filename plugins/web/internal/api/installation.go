package api

import (
	"context"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	makeBackup  = "make-backup"
	fetchBackup = "fetch-backup"
	// backupPart is what is read of a backup and sent at a time, and backupPatience how long
	// a client may take for it: one that does not read is sent away.
	backupPart     = 1 << 20
	backupPatience = time.Minute
)

type doctorOutput struct {
	Body struct {
		OK     bool              `json:"ok" doc:"Nothing is failing"`
		Checks []pluginsdk.Check `json:"checks" nullable:"false" doc:"What was looked at. state is ok, warning (the installation works without it, in a lesser way) or failing"`
	}
}

type auditInput struct {
	Who    string    `query:"who" maxLength:"200" doc:"Only what they did, as the log has the name"`
	Action string    `query:"action" maxLength:"100" doc:"Only this action, such as plugin.enable, or those that begin with it and a dot, such as plugin"`
	Target string    `query:"target" maxLength:"200" doc:"Only what was done to this"`
	Since  time.Time `query:"since" doc:"Only from this time on"`
	Before string    `query:"before" maxLength:"100" doc:"Id of the last entry of the page before"`
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most of a page. The end is an empty page"`
}

type auditOutput struct {
	Body struct {
		Entries []pluginsdk.AuditEntry `json:"entries" nullable:"false" doc:"Newest first"`
	}
}

type usageInput struct {
	By     pluginsdk.UsageBy `query:"by" enum:"thread,purpose,model,task,plugin,cron,account,day,hour" doc:"What is summed up apart; absent: all together"`
	Since  time.Time         `query:"since" doc:"Only turns that began from this time on"`
	Until  time.Time         `query:"until" doc:"Only turns that began before this time"`
	Thread string            `query:"thread" maxLength:"100" doc:"Only turns of this thread"`
	Limit  int               `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many sums: of what cost the most; of days and hours, the newest"`
}

// UsageSums are what turns have used.
type UsageSums struct {
	Total    pluginsdk.UsageSum   `json:"total" doc:"Of all turns that were selected"`
	Sums     []pluginsdk.UsageSum `json:"sums" nullable:"false" doc:"With by. of is the thread, the model, ..., the name of the scheduled job, the day (2006-01-02) or hour (2006-01-02T15) in UTC; it is empty for turns of no thread, task, plugin, scheduled job, account; duration is in nanoseconds. costUsd has notionalUsd in it, which is of turns on a plan: nobody is billed that. unsure counts the turns whose cost may be wrong. name is a thread's name, or a task's title"`
	Unpriced []pluginsdk.UsageSum `json:"unpriced,omitempty" nullable:"false" doc:"What models had of the turns whose price is not known, by the model: their cost is unsure for that"`
}

type usageOutput struct{ Body UsageSums }

type pauseInput struct {
	Body struct {
		Paused bool `json:"paused" doc:"Whether nothing is to begin that a plugin starts"`
	}
}

type pauseOutput struct {
	Body struct {
		Was   pluginsdk.Pause `json:"was"`
		Pause pluginsdk.Pause `json:"pause"`
	}
}

type pausedOutput struct {
	Body struct {
		Pause pluginsdk.Pause `json:"pause"`
	}
}

type backupOutput struct{ Body pluginsdk.Backup }

type backupsOutput struct {
	Body struct {
		Backups []pluginsdk.Backup `json:"backups" nullable:"false" doc:"Newest first"`
	}
}

type backupInput struct {
	Name string `path:"name" maxLength:"255" doc:"The backup's name"`
}

func (h *handlers) registerInstallation(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("doctor", "/api/doctor", "What is wrong, and what to do")), h.doctor)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-audit", "/api/audit", "Who did what to the installation")), h.listAudit)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("usage", "/api/usage", "What turns of the agent have used and cost")), h.usage)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("get-pause", "/api/pause", "Whether what plugins start is held back")), h.getPause)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, post("set-pause", "/api/pause", "Hold back what plugins start, or let it go on", http.StatusOK)), h.setPause)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, post(makeBackup, "/api/backups", "Make a backup, which may take minutes", http.StatusCreated)), h.makeBackup)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, get("list-backups", "/api/backups", "The backups that are there")), h.listBackups)
	fetch := get(fetchBackup, "/api/backups/{name}", "A backup's bytes")
	fetch.Responses = map[string]*huma.Response{"200": {
		Description: "The file, which `harness restore` takes",
		Content:     map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: "string", Format: "binary"}}},
	}}
	huma.Register(api, needs(pluginsdk.ScopeAdmin, fetch), h.fetchBackup)
	remove := get("delete-backup", "/api/backups/{name}", "Delete a backup; an absent one is no error")
	remove.Method, remove.DefaultStatus = http.MethodDelete, http.StatusNoContent
	huma.Register(api, needs(pluginsdk.ScopeAdmin, remove), h.deleteBackup)
}

func (h *handlers) doctor(ctx context.Context, _ *struct{}) (*doctorOutput, error) {
	answer, err := h.host.Installation.Doctor(ctx, &pluginsdk.DoctorRequest{})
	if err != nil {
		return nil, h.fail("doctor", err)
	}
	output := &doctorOutput{}
	output.Body.OK, output.Body.Checks = true, list(answer.Checks)
	for _, check := range answer.Checks {
		output.Body.OK = output.Body.OK && check.State != pluginsdk.CheckFailing
	}
	return output, nil
}

func (h *handlers) listAudit(ctx context.Context, input *auditInput) (*auditOutput, error) {
	answer, err := h.host.Installation.Audit(ctx, &pluginsdk.ListAuditRequest{Query: pluginsdk.AuditQuery{
		Who: input.Who, Action: input.Action, Target: input.Target, Since: input.Since, Before: input.Before, Limit: input.Limit,
	}})
	if err != nil {
		return nil, h.fail("list-audit", err)
	}
	output := &auditOutput{}
	output.Body.Entries = list(answer.Entries)
	return output, nil
}

func (h *handlers) usage(ctx context.Context, input *usageInput) (*usageOutput, error) {
	if !input.Until.IsZero() && !input.Since.Before(input.Until) {
		return nil, wrongQuery("until", "it is not after since")
	}
	request := pluginsdk.UsageRequest{By: input.By, Since: input.Since, Until: input.Until, ThreadID: input.Thread, Limit: input.Limit}
	answer, err := h.host.Installation.Usage(ctx, &request)
	if err == nil && input.Thread != "" && answer.Total.Turns == 0 {
		err = h.checkSpender(ctx, input.Thread)
	}
	if err != nil {
		return nil, h.fail("usage", err)
	}
	return &usageOutput{Body: UsageSums{Total: answer.Total, Sums: list(answer.Sums), Unpriced: answer.Unpriced}}, nil
}

// checkSpender refuses the id of what is no thread, and was none that has used anything: a deleted
// thread leaves what was paid.
func (h *handlers) checkSpender(ctx context.Context, threadID string) error {
	_, err := h.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: threadID})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		return err
	}
	ever, err := h.host.Installation.Usage(ctx, &pluginsdk.UsageRequest{ThreadID: threadID})
	if err == nil && ever.Total.Turns == 0 {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "thread: there is no thread %q", threadID)
	}
	return err
}

// wrongQuery is the answer to a query in which one parameter is wrong.
func wrongQuery(name, message string) error {
	return huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{Location: "query." + name, Message: message})
}

func (h *handlers) getPause(ctx context.Context, _ *struct{}) (*pausedOutput, error) {
	answer, err := h.host.Installation.Pause(ctx, &pluginsdk.GetPauseRequest{})
	if err != nil {
		return nil, h.fail("get-pause", err)
	}
	output := &pausedOutput{}
	output.Body.Pause = answer.Pause
	return output, nil
}

func (h *handlers) setPause(ctx context.Context, input *pauseInput) (*pauseOutput, error) {
	answer, err := h.host.Installation.SetPause(ctx, &pluginsdk.SetPauseRequest{Paused: input.Body.Paused})
	if err != nil {
		return nil, h.fail("set-pause", err)
	}
	output := &pauseOutput{}
	output.Body.Was, output.Body.Pause = answer.Was, answer.Pause
	return output, nil
}

// makeBackup answers when the backup is whole. It is given up when the client leaves.
func (h *handlers) makeBackup(ctx context.Context, _ *struct{}) (*backupOutput, error) {
	answer, err := h.host.Installation.Backup(ctx, &pluginsdk.MakeBackupRequest{})
	if err != nil {
		return nil, h.fail(makeBackup, err)
	}
	return &backupOutput{Body: answer.Backup}, nil
}

func (h *handlers) listBackups(ctx context.Context, _ *struct{}) (*backupsOutput, error) {
	answer, err := h.host.Installation.Backups(ctx, &pluginsdk.ListBackupsRequest{})
	if err != nil {
		return nil, h.fail("list-backups", err)
	}
	output := &backupsOutput{}
	output.Body.Backups = list(answer.Backups)
	return output, nil
}

// fetchBackup sends a backup part by part. One that cannot be sent to its end breaks the
// connection off, so that nobody takes a part for the whole.
func (h *handlers) fetchBackup(ctx context.Context, input *backupInput) (*huma.StreamResponse, error) {
	found, err := h.host.Installation.Backups(ctx, &pluginsdk.ListBackupsRequest{})
	if err != nil {
		return nil, h.fail(fetchBackup, err)
	}
	for _, backup := range found.Backups {
		if backup.Name == input.Name {
			return &huma.StreamResponse{Body: func(ctx huma.Context) { h.sendBackup(ctx, backup) }}, nil
		}
	}
	return nil, h.fail(fetchBackup, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no backup %q", input.Name))
}

func (h *handlers) sendBackup(ctx huma.Context, backup pluginsdk.Backup) {
	ctx.SetHeader("Content-Type", "application/octet-stream")
	ctx.SetHeader("Content-Length", strconv.FormatInt(backup.Size, 10))
	ctx.SetHeader("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": backup.Name}))
	ctx.SetHeader("Last-Modified", backup.At.UTC().Format(http.TimeFormat))
	ctx.SetStatus(http.StatusOK)
	_, w := humago.Unwrap(ctx)
	for sent := int64(0); sent < backup.Size; {
		answer, err := h.host.Installation.ReadBackup(ctx.Context(), &pluginsdk.ReadBackupRequest{Name: backup.Name, Offset: sent, Limit: backupPart})
		if err != nil || len(answer.Data) == 0 || sent+int64(len(answer.Data)) > backup.Size {
			h.log.Warn("a backup could not be sent to its end", "backup", backup.Name, "sent", sent, "of", backup.Size, "err", err)
			panic(http.ErrAbortHandler)
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(backupPatience)) // where it cannot be set there is none
		if _, err := ctx.BodyWriter().Write(answer.Data); err != nil {
			panic(http.ErrAbortHandler) // the client is gone
		}
		sent += int64(len(answer.Data))
	}
}

func (h *handlers) deleteBackup(ctx context.Context, input *backupInput) (*struct{}, error) {
	if _, err := h.host.Installation.DeleteBackup(ctx, &pluginsdk.DeleteBackupRequest{Name: input.Name}); err != nil {
		return nil, h.fail("delete-backup", err)
	}
	return nil, nil //nolint:nilnil // huma's way to answer without a body
}
