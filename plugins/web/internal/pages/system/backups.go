package system

import (
	"context"
	"net/http"
	"net/url"

	"github.com/a-h/templ"

	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const backupsPath = at + "/backups"

// kept is the page of backups.
type kept struct {
	backups []pluginsdk.Backup
	making  work[pluginsdk.Backup]
}

func (p *pages) backups(r *http.Request) (site.View, error) {
	page, err := p.kept(r)
	if err != nil {
		return unless(r, err, backupsPath, "archive", "Here are the backups of all that Harness keeps.")
	}
	return view(r, backupsPath, backupsPage(page)), nil
}

// backupPart is the list by itself, which is looked at until a backup is made.
func (p *pages) backupPart(r *http.Request) (templ.Component, error) {
	page, err := p.kept(r)
	return backupList(page), err
}

func (p *pages) kept(r *http.Request) (kept, error) {
	making := p.backup.state() // before the list, which has it once it is made
	var answer struct {
		Backups []pluginsdk.Backup `json:"backups"`
	}
	err := p.Get(r.Context(), "/api/backups", nil, &answer)
	return kept{answer.Backups, making}, err
}

func (p *pages) makeBackup(r *http.Request) (site.Done, error) {
	p.backup.begin(r, backupPatience, quick, func(ctx context.Context) (made pluginsdk.Backup, err error) {
		err = p.Post(ctx, "/api/backups", nil, &made)
		return made, err
	})
	return site.Done{To: backupsPath}, nil
}

func (p *pages) deleteBackup(r *http.Request) (site.Done, error) {
	name := r.PostForm.Get("name")
	return site.Done{To: backupsPath, Said: name + " is deleted."},
		p.Ask(r.Context(), http.MethodDelete, backupAt(name), nil, nil, nil)
}

func backupAt(name string) string { return "/api/backups/" + url.PathEscape(name) }
