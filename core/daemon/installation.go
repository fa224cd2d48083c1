package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/invoker/prices"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// installationRoom is the daemon as a whole, as plugins have it that show it to operators.
type installationRoom struct {
	config Config
	store  *store.Store
	live   func(row ledger.Plugin) ledger.Plugin // a plugin's row as it is at this moment
	anew   func(ctx context.Context)             // asks the plugins how they find their surroundings
	prices *prices.Book
	now    func() time.Time

	backing chan struct{} // the place of the one backup that is made
	looking chan struct{} // the place of the one who looks, for doctor

	began time.Time // when found was begun to be looked for; of who looks
	found []pluginsdk.Check
}

func newInstallationRoom(config Config, database *store.Store, book *prices.Book, live func(ledger.Plugin) ledger.Plugin, anew func(context.Context)) *installationRoom {
	return &installationRoom{
		config: config, store: database, live: live, anew: anew, prices: book, now: time.Now,
		backing: make(chan struct{}, 1), looking: make(chan struct{}, 1),
	}
}

// Doctor looks as `harness doctor` does, from inside. It reads the whole database and starts
// the CLI, so that one looks at a time: whoever has waited meanwhile gets what was found since
// they asked.
func (r *installationRoom) Doctor(ctx context.Context) ([]pluginsdk.Check, error) {
	asked := r.now()
	select {
	case r.looking <- struct{}{}:
		defer func() { <-r.looking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if r.began.After(asked) {
		return slices.Clone(r.found), nil
	}
	began := r.now()
	r.checkAnew(ctx)
	found, in := examineDatabase(ctx, r.config, r.store)
	for n, row := range in.plugins {
		in.plugins[n] = r.live(row)
	}
	checks := contractChecks(examine(ctx, r.config, true, found, in))
	if err := ctx.Err(); err != nil {
		return nil, err // what was found is that nobody waits any more
	}
	r.began, r.found = began, checks
	return slices.Clone(checks), nil
}

// checkPatience is how long plugins have to say how they find their surroundings, for who looks.
const checkPatience = 3 * time.Second

func (r *installationRoom) checkAnew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	r.anew(ctx)
}

// contractChecks are checks as plugins know them: what the installation can do without is
// a warning.
func contractChecks(checks []Check) []pluginsdk.Check {
	out := make([]pluginsdk.Check, len(checks))
	for n, check := range checks {
		state := pluginsdk.CheckFailing
		switch {
		case check.OK:
			state = pluginsdk.CheckOK
		case check.Optional:
			state = pluginsdk.CheckWarning
		}
		out[n] = pluginsdk.Check{Name: check.Name, State: state, Detail: check.Detail}
		if !check.OK {
			out[n].Remedy = check.Remedy
		}
	}
	return out
}

func (r *installationRoom) Pause(ctx context.Context) (pluginsdk.Pause, error) {
	lever, err := r.store.Lever(ctx, ledger.LeverPause)
	return pauseOf(lever), err
}

func (r *installationRoom) SetPause(ctx context.Context, who string, paused bool) (was, is pluginsdk.Pause, err error) {
	before, err := r.store.Lever(ctx, ledger.LeverPause)
	if err != nil {
		return was, is, err
	}
	if err := r.store.SetLever(ctx, ledger.LeverPause, paused, who); err != nil {
		return was, is, err
	}
	after, err := r.store.Lever(ctx, ledger.LeverPause)
	return pauseOf(before), pauseOf(after), err
}

func pauseOf(lever ledger.Lever) pluginsdk.Pause {
	return pluginsdk.Pause{Paused: lever.On, Who: lever.Who, Since: lever.At}
}

// Backups are files of the directory backups. A name is a file's and no path; of what else
// lies there, links and directories among it, nothing is listed or opened.
const (
	backupPrefix = "harness-"
	backupSuffix = ".backup"
	backupTime   = "20060102T150405.000Z"
)

func (r *installationRoom) backups() string { return filepath.Join(r.config.Data, "backups") }

// Backup makes a backup under the name of this instant. What a daemon that was killed has left
// half made goes first.
func (r *installationRoom) Backup(ctx context.Context, who string) (pluginsdk.Backup, error) {
	select {
	case r.backing <- struct{}{}:
		defer func() { <-r.backing }()
	default:
		return pluginsdk.Backup{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "a backup is being made already; ask again when it is done")
	}
	if err := os.MkdirAll(r.backups(), 0o700); err != nil {
		return pluginsdk.Backup{}, fmt.Errorf("make the directory of backups: %w", err)
	}
	if err := r.sweepBackups(); err != nil {
		return pluginsdk.Backup{}, err
	}
	name := backupPrefix + r.now().UTC().Format(backupTime) + backupSuffix
	path := filepath.Join(r.backups(), name)
	report, err := r.store.Backup(ctx, store.Backup{
		File: path, Workspace: r.config.workspace(), Files: r.config.files(), Version: r.config.Version,
	})
	if err != nil {
		return pluginsdk.Backup{}, err
	}
	made := pluginsdk.Backup{Name: name, Size: report.Bytes}
	if made.SHA256, made.At, err = sumOf(path); err != nil {
		return pluginsdk.Backup{}, err
	}
	detail := fmt.Sprintf("%d rows, %d bytes", report.Rows(), report.Bytes)
	if n := len(report.Damaged); n > 0 { // as `harness backup` on this machine says
		detail += fmt.Sprintf("; %d files are not what was kept: see `harness doctor`", n)
	}
	return made, r.store.Audit(ctx, who, "backup.make", name, detail)
}

func sumOf(path string) (sum string, at time.Time, err error) {
	file, err := os.Open(path) //nolint:gosec // the daemon's own directory
	if err != nil {
		return "", at, err
	}
	defer file.Close() // it was only read
	info, err := file.Stat()
	if err != nil {
		return "", at, err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), info.ModTime().UTC(), err
}

// sweepBackups removes what a backup of this room that was not finished has left. Only one is
// made at a time, so that nobody writes there.
func (r *installationRoom) sweepBackups() error {
	left, err := filepath.Glob(filepath.Join(r.backups(), "."+backupPrefix+"*"+backupSuffix+".*.tmp"))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

func (r *installationRoom) Backups(context.Context) ([]pluginsdk.Backup, error) {
	entries, err := os.ReadDir(r.backups())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	var backups []pluginsdk.Backup
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || strings.HasPrefix(entry.Name(), ".") {
			continue // gone meanwhile, or none
		}
		backups = append(backups, pluginsdk.Backup{Name: entry.Name(), Size: info.Size(), At: info.ModTime().UTC()})
	}
	slices.SortStableFunc(backups, func(a, b pluginsdk.Backup) int { return b.At.Compare(a.At) })
	return backups, nil
}

func (r *installationRoom) ReadBackup(_ context.Context, name string, offset int64, limit int) ([]byte, error) {
	root, err := r.openBackups(name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the backup %s: %w", name, err)
	}
	defer file.Close() // it was only read
	data := make([]byte, limit)
	n, err := file.ReadAt(data, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the backup %s: %w", name, err)
	}
	return data[:n], nil
}

func (r *installationRoom) DeleteBackup(ctx context.Context, who, name string) error {
	root, err := r.openBackups(name)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	// Before it is done: that a backup is gone is in the log, always.
	if err := r.store.Audit(ctx, who, "backup.delete", name, ""); err != nil {
		return err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete the backup %s: %w", name, err)
	}
	return nil
}

// maxFileName is how many bytes the name of a file has at most, on the file systems that there
// are.
const maxFileName = 255

// openBackups opens the directory in which a backup of that name lies: CodeNotFound when
// there is none.
func (r *installationRoom) openBackups(name string) (*os.Root, error) {
	if name == "" || len(name) > maxFileName || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\\\x00") {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: %q is not the name of a backup, which is a file's without any directory", name)
	}
	missing := pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no backup %q", name)
	root, err := os.OpenRoot(r.backups())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	if err != nil {
		return nil, fmt.Errorf("open the directory of backups: %w", err)
	}
	info, err := root.Lstat(name)
	if err == nil && info.Mode().IsRegular() {
		return root, nil
	}
	_ = root.Close()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look at the backup %s: %w", name, err)
	}
	return nil, missing
}
