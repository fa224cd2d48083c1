package files

import (
	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Figures returns what lies on the disk, and what is coming, at this moment.
func (r *Room) Figures() []pluginsdk.Figure {
	r.mu.Lock()
	coming := len(r.uploads)
	r.mu.Unlock()
	return []pluginsdk.Figure{
		tally.Gauge("harness_files_bytes", "What the bytes of all files take on the disk, with what was announced of uploads.", float64(r.shelf.used.Load())),
		tally.Gauge("harness_files_quota_bytes", "What they may take (HARNESS_FILES_QUOTA); 0: any size.", float64(r.config.Quota)),
		tally.Gauge("harness_files_uploads", "Uploads that were begun and not committed.", float64(coming)),
	}
}
