package plugintest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// installed is the installation as the host has it.
type installed struct {
	checks  []pluginsdk.Check
	audit   []pluginsdk.AuditEntry // oldest first
	turns   []Turn
	pause   pluginsdk.Pause
	backups []backup // oldest first
}

type backup struct {
	pluginsdk.Backup

	content []byte
}

// Turn is what a turn of the agent has used, for Installation.Usage.
type Turn struct {
	ThreadID, Purpose, Model, TaskID, Plugin, Account, Cron string

	At     time.Time
	Failed bool
	Usage  pluginsdk.UsageSum // Of, Turns, Failed and Name are not used; Unsure is 1 when the cost may be wrong
	// Unpriced says that the price of the model is not known, so that Usage.Unsure is 1.
	Unpriced bool
}

type installation struct{ view }

// SetChecks says what Installation.Doctor finds.
func (h *Host) SetChecks(checks ...pluginsdk.Check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.installed.checks = checks
}

// AddAudit puts an entry into the audit log. One without an id gets one.
func (h *Host) AddAudit(entry pluginsdk.AuditEntry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addAudit(entry)
}

func (h *Host) addAudit(entry pluginsdk.AuditEntry) {
	entry.ID = cmp.Or(entry.ID, h.nextID("audit"))
	h.installed.audit = append(h.installed.audit, entry)
}

// AddTurn puts what a turn has used into the host.
func (h *Host) AddTurn(turn Turn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.installed.turns = append(h.installed.turns, turn)
}

// AddBackup puts a backup into the host.
func (h *Host) AddBackup(name string, content []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addBackup(name, content)
}

func (h *Host) addBackup(name string, content []byte) pluginsdk.Backup {
	sum := sha256.Sum256(content)
	made := backup{pluginsdk.Backup{Name: name, Size: int64(len(content)), At: now()}, slices.Clone(content)}
	h.installed.backups = append(h.installed.backups, made)
	made.SHA256 = hex.EncodeToString(sum[:])
	return made.Backup
}

// who is in whose name the plugin acts, in the audit log.
func (v view) who(ctx context.Context) string {
	name := "plugin:" + v.manifest.Name
	if person := pluginsdk.PersonFrom(ctx); person != "" {
		name += " (" + person + ")"
	}
	return name
}

func (s installation) Doctor(ctx context.Context, _ *pluginsdk.DoctorRequest) (*pluginsdk.DoctorResponse, error) {
	leave, err := s.h.enter(ctx, "Installation.Doctor")
	if err != nil {
		return nil, err
	}
	defer leave()
	return &pluginsdk.DoctorResponse{Checks: slices.Clone(s.h.installed.checks)}, nil
}

func (s installation) Audit(ctx context.Context, request *pluginsdk.ListAuditRequest) (*pluginsdk.ListAuditResponse, error) {
	leave, err := s.h.enter(ctx, "Installation.Audit")
	if err != nil {
		return nil, err
	}
	defer leave()
	q := request.Query
	rest := after(ordered(s.h.installed.audit, true), func(e pluginsdk.AuditEntry) bool { return e.ID == q.Before })
	return &pluginsdk.ListAuditResponse{Entries: page(filter(rest, func(e pluginsdk.AuditEntry) bool {
		return (q.Who == "" || e.Who == q.Who) && (q.Target == "" || e.Target == q.Target) && !e.At.Before(q.Since) &&
			(q.Action == "" || e.Action == q.Action || strings.HasPrefix(e.Action, q.Action+"."))
	}), q.Limit)}, nil
}

func (s installation) Usage(ctx context.Context, request *pluginsdk.UsageRequest) (*pluginsdk.UsageResponse, error) {
	leave, err := s.h.enter(ctx, "Installation.Usage")
	if err != nil {
		return nil, err
	}
	defer leave()
	answer, sums, unpriced := &pluginsdk.UsageResponse{}, make(map[string]pluginsdk.UsageSum), make(map[string]pluginsdk.UsageSum)
	for _, turn := range s.h.installed.turns {
		if turn.At.Before(request.Since) || !request.Until.IsZero() && !turn.At.Before(request.Until) || request.ThreadID != "" && turn.ThreadID != request.ThreadID {
			continue
		}
		of, err := turn.of(request.By)
		if err != nil {
			return nil, err
		}
		sum := sums[of]
		sum.Of = of
		sums[of] = turn.addTo(sum)
		answer.Total = turn.addTo(answer.Total)
		if turn.Unpriced {
			sum := unpriced[turn.Model]
			sum.Of = turn.Model
			unpriced[turn.Model] = turn.addTo(sum)
		}
	}
	for _, model := range slices.Sorted(maps.Keys(unpriced)) {
		answer.Unpriced = append(answer.Unpriced, unpriced[model])
	}
	if request.By == "" {
		return answer, nil
	}
	for _, sum := range sums {
		answer.Sums = append(answer.Sums, sum)
	}
	slices.SortFunc(answer.Sums, func(a, b pluginsdk.UsageSum) int {
		if request.By == pluginsdk.UsageByDay || request.By == pluginsdk.UsageByHour {
			return cmp.Compare(b.Of, a.Of)
		}
		return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(a.Of, b.Of))
	})
	answer.Sums = page(answer.Sums, request.Limit)
	return answer, nil
}

func (t Turn) of(by pluginsdk.UsageBy) (string, error) {
	switch by {
	case "":
		return "", nil
	case pluginsdk.UsageByThread:
		return t.ThreadID, nil
	case pluginsdk.UsageByPurpose:
		return t.Purpose, nil
	case pluginsdk.UsageByModel:
		return t.Model, nil
	case pluginsdk.UsageByTask:
		return t.TaskID, nil
	case pluginsdk.UsageByPlugin:
		return t.Plugin, nil
	case pluginsdk.UsageByAccount:
		return t.Account, nil
	case pluginsdk.UsageByCron:
		return t.Cron, nil
	case pluginsdk.UsageByDay:
		return t.At.UTC().Format(time.DateOnly), nil
	case pluginsdk.UsageByHour:
		return t.At.UTC().Format("2006-01-02T15"), nil
	}
	return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "by: %q is not accepted", by)
}

func (t Turn) addTo(sum pluginsdk.UsageSum) pluginsdk.UsageSum {
	sum.Turns++
	if t.Failed {
		sum.Failed++
	}
	sum.CostUSD += t.Usage.CostUSD
	sum.NotionalUSD += t.Usage.NotionalUSD
	sum.Unsure += t.Usage.Unsure
	sum.Duration += t.Usage.Duration
	sum.Usage.InputTokens += t.Usage.Usage.InputTokens
	sum.Usage.OutputTokens += t.Usage.Usage.OutputTokens
	sum.Usage.CacheReadTokens += t.Usage.Usage.CacheReadTokens
	sum.Usage.CacheWriteTokens += t.Usage.Usage.CacheWriteTokens
	return sum
}

func (s installation) Pause(ctx context.Context, _ *pluginsdk.GetPauseRequest) (*pluginsdk.GetPauseResponse, error) {
	leave, err := s.h.enter(ctx, "Installation.Pause")
	if err != nil {
		return nil, err
	}
	defer leave()
	return &pluginsdk.GetPauseResponse{Pause: s.h.installed.pause}, nil
}

func (s installation) SetPause(ctx context.Context, request *pluginsdk.SetPauseRequest) (*pluginsdk.SetPauseResponse, error) {
	leave, err := s.h.enter(ctx, "Installation.SetPause")
	if err != nil {
		return nil, err
	}
	defer leave()
	was := s.h.installed.pause
	if was.Paused != request.Paused {
		s.h.installed.pause = pluginsdk.Pause{Paused: request.Paused, Who: s.who(ctx), Since: now()}
	}
	return &pluginsdk.SetPauseResponse{Was: was, Pause: s.h.installed.pause}, nil
}

func (s installation) Backup(ctx context.Context, _ *pluginsdk.MakeBackupRequest) (*pluginsdk.MakeBackupResponse, error) {
	leave, err := s.h.enter(ctx, "Installation.Backup")
	if err != nil {
		return nil, err
	}
	defer leave()
	made := s.h.addBackup(s.h.nextID("harness")+".backup", []byte("a backup"))
	s.h.addAudit(pluginsdk.AuditEntry{Who: s.who(ctx), Action: "backup.make", Target: made.Name, At: made.At})
	return &pluginsdk.MakeBackupResponse{Backup: made}, nil
}

func (s installation) Backups(ctx context.Context, _ *pluginsdk.ListBackupsRequest) (*pluginsdk.ListBackupsResponse, error) {
	leave, err := s.h.enter(ctx, "Installation.Backups")
	if err != nil {
		return nil, err
	}
	defer leave()
	answer := &pluginsdk.ListBackupsResponse{}
	for _, one := range ordered(s.h.installed.backups, true) {
		answer.Backups = append(answer.Backups, one.Backup)
	}
	return answer, nil
}

func (s installation) ReadBackup(ctx context.Context, request *pluginsdk.ReadBackupRequest) (*pluginsdk.ReadBackupResponse, error) {
	leave, err := s.h.enter(ctx, "Installation.ReadBackup")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.installed.backups, "backup", request.Name, func(b backup) string { return b.Name })
	if err != nil {
		return nil, err
	}
	const most = 4 << 20
	limit := request.Limit
	if limit <= 0 || limit > most {
		limit = most
	}
	content := s.h.installed.backups[i].content
	content = content[min(max(request.Offset, 0), int64(len(content))):]
	return &pluginsdk.ReadBackupResponse{Data: slices.Clone(content[:min(len(content), limit)])}, nil
}

func (s installation) DeleteBackup(ctx context.Context, request *pluginsdk.DeleteBackupRequest) (*pluginsdk.DeleteBackupResponse, error) {
	leave, err := s.h.enter(ctx, "Installation.DeleteBackup")
	if err != nil {
		return nil, err
	}
	defer leave()
	kept := filter(s.h.installed.backups, func(b backup) bool { return b.Name != request.Name })
	if len(kept) < len(s.h.installed.backups) {
		s.h.addAudit(pluginsdk.AuditEntry{Who: s.who(ctx), Action: "backup.delete", Target: request.Name, At: now()})
	}
	s.h.installed.backups = kept
	return &pluginsdk.DeleteBackupResponse{}, nil
}
