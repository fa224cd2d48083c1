package pluginsdk

// Effects is what a hook does to its own run. It travels with the hook's answer
// and is stored in the run's next commit, with all that else is in it: it needs
// no call of the host, and is neither lost nor doubled by a crash.
//
// Rows need the capability messages.write, metrics need metrics.write, and both
// count in the plugin's quotas. A run stores at most 8 MiB of them. A row that is
// not allowed, or too much, is left out and counted against the plugin; it never
// fails the run.
type Effects struct {
	// Key names these effects among the plugin's of the run, such as start. What
	// is stored under a key is not stored again when the call is repeated.
	Key string
	// Rows are for the run's thread, of the kinds status, pipeline_step, thinking,
	// tool_call, tool_result and notification.
	Rows    []NewMessage
	Metrics []NewMetric
}
