// Package schedules has what the plugin that fires scheduled jobs and the one that shows them must agree on.
package schedules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Version is a checksum of all that a job is to be. Who confirms a job names the version that they have
// seen, so that nothing is confirmed that somebody else has put into the job meanwhile.
func Version(spec pluginsdk.CronSpec) string {
	spec.FireAt, spec.Until = spec.FireAt.UTC(), spec.Until.UTC()
	if len(spec.Tools) == 0 {
		spec.Tools = nil
	}
	encoded, _ := json.Marshal(spec) //nolint:errchkjson // strings, numbers, times and a flag
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}
