package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

// The databases.
const (
	sqliteName   = "sqlite"
	postgresName = "postgres"
)

// options is what a campaign is made of.
type options struct {
	kills     int
	seed      uint64
	threads   int
	databases []string
	bin       string // directory of harness and plugins/
	claude    string // the real agent; empty: the demo agent
	postgres  string // URL of a server on which databases can be made
	windows   bool   // use the plan's window up from time to time
	keep      bool   // keep the data directory of a clean campaign too
	kept      string // the directory to which it is moved then; empty: it stays where it is
	out       io.Writer
}

// The size of a campaign that nobody asks more of, which CI runs.
const (
	defaultKills   = 16
	defaultSeed    = 9
	defaultThreads = 8
)

// parse reads the command line and the environment, and says what is left out.
func parse(args []string, getenv func(string) string) (options, error) {
	o := options{claude: getenv("HARNESS_TEST_CLAUDE"), postgres: getenv("HARNESS_TEST_POSTGRES"), out: os.Stdout}
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.IntVar(&o.kills, "kills", defaultKills, "kills on each database")
	flags.Uint64Var(&o.seed, "seed", defaultSeed, "of the schedule and the load")
	flags.IntVar(&o.threads, "threads", defaultThreads, "threads that talk at the same time")
	flags.StringVar(&o.bin, "bin", "bin", "directory of harness and plugins/")
	flags.BoolVar(&o.windows, "windows", true, "use the plan's window up from time to time, and open it again")
	flags.BoolVar(&o.keep, "keep", false, "keep the data directory although every column is zero")
	flags.StringVar(&o.kept, "kept", "", "directory to which the data directory of a campaign is moved that has broken a promise or failed, and with -keep of any")
	database := flags.String("db", "both", "sqlite, postgres or both")
	demo := flags.Bool("demo", false, "use the demo agent although there is a CLI")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.kills < 0 || o.threads < 1 || o.threads > 99 {
		return o, fmt.Errorf("-kills must not be negative, and -threads from 1 to 99")
	}
	switch *database {
	case sqliteName, postgresName:
		o.databases = []string{*database}
	case "both":
		o.databases = []string{sqliteName, postgresName}
	default:
		return o, fmt.Errorf("-db: %q is not accepted; it takes sqlite, postgres or both", *database)
	}
	if *demo {
		o.claude = ""
	}
	return o, o.leaveOut(*database)
}

// leaveOut says what the environment does not allow.
func (o *options) leaveOut(asked string) error {
	if o.claude == "" {
		fmt.Fprintln(o.out, "left out: the agent's CLI (HARNESS_TEST_CLAUDE is not set, or -demo). "+
			"The demo agent answers: nothing is killed of it, and what it was asked is not known")
	}
	if o.postgres != "" || asked == sqliteName {
		return nil
	}
	if asked == postgresName {
		return fmt.Errorf("-db postgres: HARNESS_TEST_POSTGRES is not set (.ci/test-env sets it)")
	}
	fmt.Fprintln(o.out, "left out: Postgres (HARNESS_TEST_POSTGRES is not set; .ci/test-env sets it)")
	o.databases = []string{sqliteName}
	return nil
}
