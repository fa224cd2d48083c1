package ledger

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
	Fence   Fence  // of the run's claim; zero outside of runs
	// Depth is how many calls of tools the call is inside of.
	Depth int
	// Token is of the call that this one is made in; empty when it is in none.
	// It ends, at the latest, with that one.
	Token string
}
