package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// fetchedReport is what backup --json prints of a daemon elsewhere.
type fetchedReport struct {
	File string `json:"file"`
	pluginsdk.Backup
}

// backupElsewhere has a daemon make a backup, fetches it, and has it deleted there. The file
// appears under its name when it is whole.
func backupElsewhere(cmd *cobra.Command, api *client.Client, file string) error {
	if settings, _ := cmd.Flags().GetBool("with-settings"); settings {
		return errors.New("--with-settings: DATA/harness.env does not leave the daemon's machine; make that backup there")
	}
	force, _ := cmd.Flags().GetBool("force")
	if _, err := os.Lstat(file); err == nil && !force {
		return fmt.Errorf("%s exists already; name another file, or overwrite it with --force", file)
	}
	asJSON, _ := cmd.Flags().GetBool("json")
	errs := cmd.ErrOrStderr()
	if asJSON {
		errs = io.Discard
	}
	status := terminal.NewStatus(errs, "the daemon saves")
	made, err := api.MakeBackup(cmd.Context())
	if err == nil {
		err = fetch(cmd.Context(), api, made, file, force, func(done int64) {
			status.Say("fetching", humanize.IBytes(uint64(max(done, 0)))) //nolint:gosec // not negative
		})
	}
	status.Stop()
	if err != nil {
		return err
	}
	if err := api.DeleteBackup(cmd.Context(), made.Name); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "harness: the backup %s stays on the daemon's machine too: %s\n", made.Name, err)
	}
	if asJSON {
		return printJSONValue(cmd.OutOrStdout(), fetchedReport{file, made})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Saved what is at %s in %s (%s).\n", api.Base(), file, humanize.IBytes(uint64(max(made.Size, 0)))) //nolint:gosec // not negative
	return err
}

// fetch writes a backup beside the file, and gives it its name once it is whole.
func fetch(ctx context.Context, api *client.Client, made pluginsdk.Backup, file string, force bool, progress func(int64)) (err error) {
	part, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*.tmp") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(part.Name()))
			err = fmt.Errorf("%w (the backup is on the daemon's machine as %s)", err, made.Name)
		}
	}()
	err = api.FetchBackup(ctx, made, part, progress)
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return err
	}
	if force {
		return os.Rename(part.Name(), file)
	}
	if err := os.Link(part.Name(), file); err != nil { // does not replace what has come meanwhile
		return err
	}
	return os.Remove(part.Name())
}
