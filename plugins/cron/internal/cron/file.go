package cron

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// mostHashed is how many bytes of a file are compared; of a larger one size and time are.
	mostHashed = 64 << 20
	// fileGone stands for a file that is not there.
	fileGone = "gone"
)

// changedFile is happened, of a file. What it looks like when the job is new, changed or turned on is no change, nor is
// what becomes of it while a run of the job goes on: a job that changes its own file would fire without end. see is
// Plugin.see of the job and the path; while nothing is known of the file nothing is decided.
func (d *decision) changedFile(job pluginsdk.CronJob, path string, open []pluginsdk.CronFire, see func(known string) *sight, now time.Time) (again time.Time) {
	if len(open) > 0 {
		d.changed = d.changed || d.note.File != ""
		d.note.File = "" // what it is after the run is taken for what it was
		return again
	}
	before := noteOf(job)
	known := before.File
	if before.Off || before.Of != d.note.Of || before.Bad != "" {
		known = ""
	}
	if wait := restsUntil(job, open, now); known != "" && !wait.IsZero() {
		return wait // it is not read before it may count
	}
	seen := see(known)
	if seen == nil {
		d.changed = d.changed || d.note.File != known
		d.note.File = known
		return again
	}
	looks, unread := seen.looks, ""
	switch {
	case seen.err != nil: // a later look tries again, and compares with what was known
		looks, unread = known, clip(seen.err.Error())
	case known != "" && content(looks) != content(known):
		words := "The file " + path + " has changed."
		switch {
		case known == fileGone:
			words = "The file " + path + " has appeared."
		case looks == fileGone:
			words = "The file " + path + " is gone."
		}
		d.addEvent(job, now.Truncate(time.Microsecond), words, now)
		looks = "" // what it is after the run is taken for what it was
	}
	if d.note.Unread != unread {
		d.note.Unread, d.changed = unread, true
	}
	if d.note.File != looks {
		d.note.File, d.changed = looks, true
	}
	return again
}

// fingerprint is what a file looks like: size, time of the last change, and a hash of what is in it, unless size and
// time are those that are known. It is fileGone for a file that is not there.
func fingerprint(path, known string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO is not waited for
	if os.IsNotExist(err) {
		return fileGone, nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s is a directory, or no plain file: only files are watched", path)
	}
	head := fmt.Sprintf("%d %d ", info.Size(), info.ModTime().UnixNano())
	if strings.HasPrefix(known, head) {
		return known, nil
	}
	if info.Size() > mostHashed {
		return head + "-", nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(file, mostHashed)); err != nil {
		return "", err
	}
	return head + hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// content is the part of a fingerprint that is another one when what is in the file is: its hash, or all of it where
// that is not known.
func content(fingerprint string) string {
	if i := strings.LastIndex(fingerprint, " "); i >= 0 && fingerprint[i+1:] != "-" {
		return fingerprint[i+1:]
	}
	return fingerprint
}
