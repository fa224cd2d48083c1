package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func auditEntryTo(v pluginsdk.AuditEntry) *typesv1.AuditEntry {
	return &typesv1.AuditEntry{
		Id:     v.ID,
		Who:    v.Who,
		Action: v.Action,
		Target: v.Target,
		Detail: v.Detail,
		At:     timeTo(v.At),
	}
}

func auditEntryFrom(m *typesv1.AuditEntry) pluginsdk.AuditEntry {
	return pluginsdk.AuditEntry{
		ID:     m.GetId(),
		Who:    m.GetWho(),
		Action: m.GetAction(),
		Target: m.GetTarget(),
		Detail: m.GetDetail(),
		At:     timeFrom(m.GetAt()),
	}
}

func auditQueryTo(v pluginsdk.AuditQuery) *typesv1.AuditQuery {
	return &typesv1.AuditQuery{
		Who:    v.Who,
		Action: v.Action,
		Target: v.Target,
		Since:  timeTo(v.Since),
		Before: v.Before,
		Limit:  int64(v.Limit),
	}
}

func auditQueryFrom(m *typesv1.AuditQuery) pluginsdk.AuditQuery {
	return pluginsdk.AuditQuery{
		Who:    m.GetWho(),
		Action: m.GetAction(),
		Target: m.GetTarget(),
		Since:  timeFrom(m.GetSince()),
		Before: m.GetBefore(),
		Limit:  int(m.GetLimit()),
	}
}

func usageSumTo(v pluginsdk.UsageSum) *typesv1.UsageSum {
	return &typesv1.UsageSum{
		Of:          v.Of,
		Turns:       v.Turns,
		Failed:      v.Failed,
		Usage:       usageTo(v.Usage),
		CostUsd:     v.CostUSD,
		Duration:    durationTo(v.Duration),
		Unsure:      v.Unsure,
		NotionalUsd: v.NotionalUSD,
		Name:        v.Name,
	}
}

func usageSumFrom(m *typesv1.UsageSum) pluginsdk.UsageSum {
	return pluginsdk.UsageSum{
		Of:          m.GetOf(),
		Turns:       m.GetTurns(),
		Failed:      m.GetFailed(),
		Usage:       usageFrom(m.GetUsage()),
		CostUSD:     m.GetCostUsd(),
		Duration:    durationFrom(m.GetDuration()),
		Unsure:      m.GetUnsure(),
		NotionalUSD: m.GetNotionalUsd(),
		Name:        m.GetName(),
	}
}

func pauseTo(v pluginsdk.Pause) *typesv1.Pause {
	return &typesv1.Pause{
		Paused: v.Paused,
		Who:    v.Who,
		Since:  timeTo(v.Since),
	}
}

func pauseFrom(m *typesv1.Pause) pluginsdk.Pause {
	return pluginsdk.Pause{
		Paused: m.GetPaused(),
		Who:    m.GetWho(),
		Since:  timeFrom(m.GetSince()),
	}
}

func getPauseResponseTo(v pluginsdk.GetPauseResponse) *hostv1.GetPauseResponse {
	return &hostv1.GetPauseResponse{
		Pause: pauseTo(v.Pause),
	}
}

func getPauseResponseFrom(m *hostv1.GetPauseResponse) pluginsdk.GetPauseResponse {
	return pluginsdk.GetPauseResponse{
		Pause: pauseFrom(m.GetPause()),
	}
}

func setPauseRequestTo(v pluginsdk.SetPauseRequest) *hostv1.SetPauseRequest {
	return &hostv1.SetPauseRequest{
		Paused: v.Paused,
	}
}

func setPauseRequestFrom(m *hostv1.SetPauseRequest) pluginsdk.SetPauseRequest {
	return pluginsdk.SetPauseRequest{
		Paused: m.GetPaused(),
	}
}

func setPauseResponseTo(v pluginsdk.SetPauseResponse) *hostv1.SetPauseResponse {
	return &hostv1.SetPauseResponse{
		Was:   pauseTo(v.Was),
		Pause: pauseTo(v.Pause),
	}
}

func setPauseResponseFrom(m *hostv1.SetPauseResponse) pluginsdk.SetPauseResponse {
	return pluginsdk.SetPauseResponse{
		Was:   pauseFrom(m.GetWas()),
		Pause: pauseFrom(m.GetPause()),
	}
}

func backupTo(v pluginsdk.Backup) *typesv1.Backup {
	return &typesv1.Backup{
		Name:   v.Name,
		Size:   v.Size,
		Sha256: v.SHA256,
		At:     timeTo(v.At),
	}
}

func backupFrom(m *typesv1.Backup) pluginsdk.Backup {
	return pluginsdk.Backup{
		Name:   m.GetName(),
		Size:   m.GetSize(),
		SHA256: m.GetSha256(),
		At:     timeFrom(m.GetAt()),
	}
}

func doctorResponseTo(v pluginsdk.DoctorResponse) *hostv1.DoctorResponse {
	return &hostv1.DoctorResponse{
		Checks: listTo(v.Checks, checkTo),
	}
}

func doctorResponseFrom(m *hostv1.DoctorResponse) pluginsdk.DoctorResponse {
	return pluginsdk.DoctorResponse{
		Checks: listFrom(m.GetChecks(), checkFrom),
	}
}

func listAuditRequestTo(v pluginsdk.ListAuditRequest) *hostv1.ListAuditRequest {
	return &hostv1.ListAuditRequest{
		Query: auditQueryTo(v.Query),
	}
}

func listAuditRequestFrom(m *hostv1.ListAuditRequest) pluginsdk.ListAuditRequest {
	return pluginsdk.ListAuditRequest{
		Query: auditQueryFrom(m.GetQuery()),
	}
}

func listAuditResponseTo(v pluginsdk.ListAuditResponse) *hostv1.ListAuditResponse {
	return &hostv1.ListAuditResponse{
		Entries: listTo(v.Entries, auditEntryTo),
	}
}

func listAuditResponseFrom(m *hostv1.ListAuditResponse) pluginsdk.ListAuditResponse {
	return pluginsdk.ListAuditResponse{
		Entries: listFrom(m.GetEntries(), auditEntryFrom),
	}
}

func usageRequestTo(v pluginsdk.UsageRequest) *hostv1.UsageRequest {
	return &hostv1.UsageRequest{
		By:       string(v.By),
		Since:    timeTo(v.Since),
		Until:    timeTo(v.Until),
		ThreadId: v.ThreadID,
		Limit:    int64(v.Limit),
	}
}

func usageRequestFrom(m *hostv1.UsageRequest) pluginsdk.UsageRequest {
	return pluginsdk.UsageRequest{
		By:       pluginsdk.UsageBy(m.GetBy()),
		Since:    timeFrom(m.GetSince()),
		Until:    timeFrom(m.GetUntil()),
		ThreadID: m.GetThreadId(),
		Limit:    int(m.GetLimit()),
	}
}

func usageResponseTo(v pluginsdk.UsageResponse) *hostv1.UsageResponse {
	return &hostv1.UsageResponse{
		Total:    usageSumTo(v.Total),
		Sums:     listTo(v.Sums, usageSumTo),
		Unpriced: listTo(v.Unpriced, usageSumTo),
	}
}

func usageResponseFrom(m *hostv1.UsageResponse) pluginsdk.UsageResponse {
	return pluginsdk.UsageResponse{
		Total:    usageSumFrom(m.GetTotal()),
		Sums:     listFrom(m.GetSums(), usageSumFrom),
		Unpriced: listFrom(m.GetUnpriced(), usageSumFrom),
	}
}

func makeBackupResponseTo(v pluginsdk.MakeBackupResponse) *hostv1.MakeBackupResponse {
	return &hostv1.MakeBackupResponse{
		Backup: backupTo(v.Backup),
	}
}

func makeBackupResponseFrom(m *hostv1.MakeBackupResponse) pluginsdk.MakeBackupResponse {
	return pluginsdk.MakeBackupResponse{
		Backup: backupFrom(m.GetBackup()),
	}
}

func listBackupsResponseTo(v pluginsdk.ListBackupsResponse) *hostv1.ListBackupsResponse {
	return &hostv1.ListBackupsResponse{
		Backups: listTo(v.Backups, backupTo),
	}
}

func listBackupsResponseFrom(m *hostv1.ListBackupsResponse) pluginsdk.ListBackupsResponse {
	return pluginsdk.ListBackupsResponse{
		Backups: listFrom(m.GetBackups(), backupFrom),
	}
}

func readBackupRequestTo(v pluginsdk.ReadBackupRequest) *hostv1.ReadBackupRequest {
	return &hostv1.ReadBackupRequest{
		Name:   v.Name,
		Offset: v.Offset,
		Limit:  int64(v.Limit),
	}
}

func readBackupRequestFrom(m *hostv1.ReadBackupRequest) pluginsdk.ReadBackupRequest {
	return pluginsdk.ReadBackupRequest{
		Name:   m.GetName(),
		Offset: m.GetOffset(),
		Limit:  int(m.GetLimit()),
	}
}

func readBackupResponseTo(v pluginsdk.ReadBackupResponse) *hostv1.ReadBackupResponse {
	return &hostv1.ReadBackupResponse{
		Data: v.Data,
	}
}

func readBackupResponseFrom(m *hostv1.ReadBackupResponse) pluginsdk.ReadBackupResponse {
	return pluginsdk.ReadBackupResponse{
		Data: m.GetData(),
	}
}

func deleteBackupRequestTo(v pluginsdk.DeleteBackupRequest) *hostv1.DeleteBackupRequest {
	return &hostv1.DeleteBackupRequest{
		Name: v.Name,
	}
}

func deleteBackupRequestFrom(m *hostv1.DeleteBackupRequest) pluginsdk.DeleteBackupRequest {
	return pluginsdk.DeleteBackupRequest{
		Name: m.GetName(),
	}
}
