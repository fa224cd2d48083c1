package pluginhost

import "github.com/seed-706843ae/harness/pluginsdk"

// phase is where a plugin is in its life.
type phase string

// The phases. In atReplacing and atHandingOver a version serves as well.
const (
	atWaiting     phase = "waiting"      // for the one of its name before it to be gone
	atStarting    phase = "starting"     // a version is brought up, and none serves
	atServing     phase = "serving"      // a version serves, and no other is brought up
	atReplacing   phase = "replacing"    // one serves, and another is brought up beside it
	atHandingOver phase = "handing over" // the same, of an exclusive plugin: the old one is not active any more
	atFalling     phase = "falling"      // what served has ended or is at fault, and is cleared away
	atBackingOff  phase = "backing off"  // it waits for its next start
	atRefused     phase = "refused"      // it may not be started as it is
	atQuarantined phase = "quarantined"
	atStopping    phase = "stopping" // it was told to end, and its processes are ended
	atEnded       phase = "ended"
)

// seenAs is what people see of a plugin in each phase. One that has ended is disabled,
// or stopped when the daemon ends.
var seenAs = map[phase]pluginsdk.PluginState{
	atWaiting: pluginsdk.PluginStarting, atStarting: pluginsdk.PluginStarting, atServing: pluginsdk.PluginServing,
	atReplacing: pluginsdk.PluginServing, atHandingOver: pluginsdk.PluginServing, atFalling: pluginsdk.PluginStarting,
	atBackingOff: pluginsdk.PluginBackoff, atRefused: pluginsdk.PluginFailed, atQuarantined: pluginsdk.PluginQuarantined,
	atStopping: pluginsdk.PluginStopping,
}

// happening is what takes a plugin from one phase to another.
type happening string

// The happenings. The first three are the reasons for which a plugin is started.
const (
	onBegun    happening = "begun"    // nothing is left of the one before it
	onDue      happening = "due"      // the wait is over, or something else is wanted than what failed
	onFreed    happening = "freed"    // it is out of quarantine
	onConfined happening = "confined" // it failed too often, or its row says that it did
	onUp       happening = "up"       // the version that was brought up is active
	onFailed   happening = "failed"   // a start did, or what served has been cleared away
	onDenied   happening = "denied"   // another start of what is wanted would fail as this one
	onDiffers  happening = "differs"  // the row wants another process than the one that serves
	onReady    happening = "ready"    // the new version of an exclusive plugin is only to be activated
	onReplaced happening = "replaced" // the new version is active
	onSetBack  happening = "set back" // the new version failed, the old one goes on
	onFallen   happening = "fallen"   // what serves has ended or is at fault
	onBroken   happening = "broken"   // the supervisor panicked; everything is cleared away
	onTold     happening = "told"     // to end
	onGone     happening = "gone"     // no process is left
)

// transitions is THE table: what each happening makes of a phase. What is not in it is a
// fault of the supervisor's.
var transitions = map[happening]map[phase]phase{
	onBegun:    {atWaiting: atStarting},
	onDue:      {atBackingOff: atStarting, atRefused: atStarting},
	onFreed:    {atQuarantined: atStarting},
	onConfined: {atWaiting: atQuarantined, atStarting: atQuarantined, atFalling: atQuarantined, atBackingOff: atQuarantined, atRefused: atQuarantined},
	onUp:       {atStarting: atServing},
	onFailed:   {atStarting: atBackingOff, atFalling: atBackingOff},
	onDenied:   {atStarting: atRefused},
	onDiffers:  {atServing: atReplacing},
	onReady:    {atReplacing: atHandingOver},
	onReplaced: {atReplacing: atServing, atHandingOver: atServing},
	onSetBack:  {atReplacing: atServing, atHandingOver: atServing},
	onFallen:   {atServing: atFalling, atReplacing: atFalling, atHandingOver: atFalling},
	onBroken: {
		atWaiting: atBackingOff, atStarting: atBackingOff, atServing: atBackingOff, atReplacing: atBackingOff, atHandingOver: atBackingOff,
		atFalling: atBackingOff, atBackingOff: atBackingOff, atRefused: atBackingOff, atQuarantined: atBackingOff,
	},
	onTold: {
		atWaiting: atEnded, atBackingOff: atEnded, atRefused: atEnded, atQuarantined: atEnded,
		atStarting: atStopping, atServing: atStopping, atReplacing: atStopping, atHandingOver: atStopping, atFalling: atStopping,
	},
	onGone: {atStopping: atEnded},
}
