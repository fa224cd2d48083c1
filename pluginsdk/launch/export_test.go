package launch

// OpenImitation is OpenCgroups with a directory tree for cgroups, a file for
// /proc/self/cgroup, and removal that takes the files along.
var OpenImitation = openCgroups

// DaemonLeaf is where the daemon's own process goes.
const DaemonLeaf = daemonLeaf
