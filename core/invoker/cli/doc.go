// Package cli is the one place that knows what a Claude Code CLI can do, and in what the
// versions of the CLI differ. What a CLI can do is found out from the CLI itself: from its
// help (Features), from what a session answers (Said), from what it says when a turn begins
// (Begun). Nothing of Harness compares version numbers but for Newer, which decides what
// people are told, never what is done.
//
// The package also has what closes the doors of a session: the environment and the settings
// with which nobody but Harness speaks into it, remembers beside Harness, or goes on after a
// turn (Environment, Settings).
package cli
