package ledger

import "cmp"

// By is who wants something done: a plugin, of its own accord or in the name of a
// person. The zero value is somebody that nothing is known of.
type By struct {
	Plugin string // empty: it came in through none
	Author string // the person, as the plugin knows them
}

// Origin is on whose behalf a plugin is called. The zero value is nobody's: an
// operator's, or a plugin's of its own accord.
type Origin struct {
	RunID   string
	Attempt int    // of the run; 0 outside of runs
	TaskID  string // empty: the run is no task's
	// CauseRunID is, of a task's hooks, the run that what they do comes from; empty: none.
	CauseRunID string
	Fence      Fence // of the run's claim; zero outside of runs
	// Depth is how many calls of tools the call is inside of.
	Depth int
	// Token is of the call that this one is made in; empty when it is in none.
	// It ends, at the latest, with that one.
	Token string
}

// Cause is the run that has caused what is asked for on the origin's behalf; empty: none.
func (o Origin) Cause() string { return cmp.Or(o.RunID, o.CauseRunID) }

// TaskHook returns the task whose hook it is; empty: it is none's.
func (o Origin) TaskHook() string {
	if o.RunID != "" {
		return ""
	}
	return o.TaskID
}
