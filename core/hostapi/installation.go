package hostapi

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Installation is the daemon as a whole, as operators look at it.
type Installation interface {
	// Doctor looks at everything. Several that ask at a time may get one answer.
	Doctor(ctx context.Context) ([]pluginsdk.Check, error)
	// Usage sums up what turns have used.
	Usage(ctx context.Context, request pluginsdk.UsageRequest) (*pluginsdk.UsageResponse, error)
	// Pause returns how the lever stands.
	Pause(ctx context.Context) (pluginsdk.Pause, error)
	// SetPause turns the lever, in the name of who the audit log is to say did it.
	SetPause(ctx context.Context, who string, paused bool) (was, is pluginsdk.Pause, err error)
	// Backup makes a backup, one at a time: CodeUnavailable while another is made.
	Backup(ctx context.Context, who string) (pluginsdk.Backup, error)
	// Backups returns those that are there, newest first.
	Backups(ctx context.Context) ([]pluginsdk.Backup, error)
	// ReadBackup returns at most limit bytes from an offset on, none at the end.
	ReadBackup(ctx context.Context, name string, offset int64, limit int) ([]byte, error)
	// DeleteBackup removes a backup; an absent one is no error.
	DeleteBackup(ctx context.Context, who, name string) error
}

// maxBackupPart is how many bytes of a backup are read by one call.
const maxBackupPart = 4 << 20

type installation struct{ *caller }

func (s installation) Doctor(ctx context.Context, _ *pluginsdk.DoctorRequest) (*pluginsdk.DoctorResponse, error) {
	return serve(s.caller, "Installation.Doctor", func() (*pluginsdk.DoctorResponse, error) {
		checks, err := s.Installation.Doctor(ctx)
		return &pluginsdk.DoctorResponse{Checks: checks}, err
	})
}

func (s installation) Audit(ctx context.Context, request *pluginsdk.ListAuditRequest) (*pluginsdk.ListAuditResponse, error) {
	return serve(s.caller, "Installation.Audit", func() (*pluginsdk.ListAuditResponse, error) {
		entries, err := s.Store.AuditPage(ctx, request.Query)
		return &pluginsdk.ListAuditResponse{Entries: entries}, err
	})
}

func (s installation) Usage(ctx context.Context, request *pluginsdk.UsageRequest) (*pluginsdk.UsageResponse, error) {
	return serve(s.caller, "Installation.Usage", func() (*pluginsdk.UsageResponse, error) {
		return s.Installation.Usage(ctx, *request)
	})
}

func (s installation) Pause(ctx context.Context, _ *pluginsdk.GetPauseRequest) (*pluginsdk.GetPauseResponse, error) {
	return serve(s.caller, "Installation.Pause", func() (*pluginsdk.GetPauseResponse, error) {
		pause, err := s.Installation.Pause(ctx)
		return &pluginsdk.GetPauseResponse{Pause: pause}, err
	})
}

func (s installation) SetPause(ctx context.Context, request *pluginsdk.SetPauseRequest) (*pluginsdk.SetPauseResponse, error) {
	return servePerson(ctx, s.caller, "Installation.SetPause", func() (*pluginsdk.SetPauseResponse, error) {
		response := &pluginsdk.SetPauseResponse{}
		err := s.write(ctx, 1, 0, func() (err error) {
			response.Was, response.Pause, err = s.Installation.SetPause(ctx, AuditName(ctx, s.plugin), request.Paused)
			return err
		})
		return response, err
	})
}

func (s installation) Backup(ctx context.Context, _ *pluginsdk.MakeBackupRequest) (*pluginsdk.MakeBackupResponse, error) {
	return servePerson(ctx, s.caller, "Installation.Backup", func() (*pluginsdk.MakeBackupResponse, error) {
		backup, err := s.Installation.Backup(ctx, AuditName(ctx, s.plugin))
		return &pluginsdk.MakeBackupResponse{Backup: backup}, err
	})
}

func (s installation) Backups(ctx context.Context, _ *pluginsdk.ListBackupsRequest) (*pluginsdk.ListBackupsResponse, error) {
	return serve(s.caller, "Installation.Backups", func() (*pluginsdk.ListBackupsResponse, error) {
		backups, err := s.Installation.Backups(ctx)
		return &pluginsdk.ListBackupsResponse{Backups: backups}, err
	})
}

func (s installation) ReadBackup(ctx context.Context, request *pluginsdk.ReadBackupRequest) (*pluginsdk.ReadBackupResponse, error) {
	return servePerson(ctx, s.caller, "Installation.ReadBackup", func() (*pluginsdk.ReadBackupResponse, error) {
		if request.Offset < 0 || request.Limit < 0 {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "offset and limit: they are not negative")
		}
		limit := request.Limit
		if limit == 0 || limit > maxBackupPart {
			limit = maxBackupPart
		}
		data, err := s.Installation.ReadBackup(ctx, request.Name, request.Offset, limit)
		return &pluginsdk.ReadBackupResponse{Data: data}, err
	})
}

func (s installation) DeleteBackup(ctx context.Context, request *pluginsdk.DeleteBackupRequest) (*pluginsdk.DeleteBackupResponse, error) {
	return servePerson(ctx, s.caller, "Installation.DeleteBackup", func() (*pluginsdk.DeleteBackupResponse, error) {
		return &pluginsdk.DeleteBackupResponse{}, s.write(ctx, 1, 0, func() error {
			return s.Installation.DeleteBackup(ctx, AuditName(ctx, s.plugin), request.Name)
		})
	})
}
