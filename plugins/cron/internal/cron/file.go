package cron

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
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
// what becomes of it while a run of the job goes on: a job that changes its own file would fire without end.
func (d *decision) changedFile(job pluginsdk.CronJob, path string, open []pluginsdk.CronFire, now time.Time) (again time.Time) {
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
	looks, err := fingerprint(path, known)
	switch {
	case err != nil:
		if known == "" {
			known = fileGone
		}
		looks = known // it cannot be read now; the next look tries again
	case known != "" && content(looks) != content(known):
		if wait := restsUntil(job, open, now); !wait.IsZero() {
			return wait
		}
		words := "The file " + path + " has changed."
		switch {
		case known == fileGone:
			words = "The file " + path + " has appeared."
		case looks == fileGone:
			words = "The file " + path + " is gone."
		}
		d.addEvent(job, now.Truncate(time.Microsecond), words, now)
	}
	if d.note.File != looks {
		d.note.File, d.changed = looks, true
	}
	return again
}

// fingerprint is what a file looks like: size, time of the last change, and a hash of what is in it, unless size and
// time are those that are known. It is fileGone for a file that is not there.
func fingerprint(path, known string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return fileGone, nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", &fs.PathError{Op: "look at", Path: path, Err: fs.ErrInvalid}
	}
	head := fmt.Sprintf("%d %d ", info.Size(), info.ModTime().UnixNano())
	if strings.HasPrefix(known, head) {
		return known, nil
	}
	if info.Size() > mostHashed {
		return head + "-", nil
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
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
