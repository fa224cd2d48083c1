package pluginhost

import "github.com/seed-706843ae/harness/pluginsdk"

// phase is where a plugin is in its life.
type phase string

// The phases. In atReplacing and atHandingOver a version serves as well.
const (
	atWaiting     phase = "waiting"      // the supervisor has not begun; an earlier instance of that name may still have to end
	atStarting    phase = "starting"     // a version is being brought up, and none serves
	atServing     phase = "serving"      // a version serves, and no other is being brought up
	atReplacing   phase = "replacing"    // one serves, and another is being brought up beside it
	atHandingOver phase = "handing over" // as atReplacing, of an exclusive plugin: the old version is deactivated
	atFalling     phase = "falling"      // the version that served has ended or is at fault, and is being buried
	atBackingOff  phase = "backing off"  // the plugin waits for its next start
	atRefused     phase = "refused"      // the plugin may not be started as it is
	atQuarantined phase = "quarantined"
	atStopping    phase = "stopping" // the plugin's processes are being ended
	atEnded       phase = "ended"
)

// seenAs is the state that people see in each phase. For an ended plugin the instance
// sets it: disabled, or stopped when the daemon ends.
var seenAs = map[phase]pluginsdk.PluginState{
	atWaiting: pluginsdk.PluginStarting, atStarting: pluginsdk.PluginStarting, atServing: pluginsdk.PluginServing,
	atReplacing: pluginsdk.PluginServing, atHandingOver: pluginsdk.PluginServing, atFalling: pluginsdk.PluginStarting,
	atBackingOff: pluginsdk.PluginBackoff, atRefused: pluginsdk.PluginFailed, atQuarantined: pluginsdk.PluginQuarantined,
	atStopping: pluginsdk.PluginStopping,
}

// happening is an event that takes a plugin from one phase to another.
type happening string

// The happenings. The first three are the reasons for which a plugin is started.
const (
	onBegun    happening = "begun"    // the instance before it has ended
	onDue      happening = "due"      // the wait is over, or another row is wanted than the one that failed
	onFreed    happening = "freed"    // the plugin is out of quarantine
	onConfined happening = "confined" // the plugin failed too often, or its row says that it is in quarantine
	onUp       happening = "up"       // the version that was brought up is active
	onFailed   happening = "failed"   // a start failed, or the version that served is buried
	onDenied   happening = "denied"   // the start was refused: another of the same row would be too
	onDiffers  happening = "differs"  // the wanted row needs another process
	onReady    happening = "ready"    // an exclusive plugin's new version only has to be activated
	onReplaced happening = "replaced" // the new version is active
	onSetBack  happening = "set back" // the new version failed, the old one goes on
	onFallen   happening = "fallen"   // the version that serves has ended or is at fault
	onBroken   happening = "broken"   // the supervisor panicked; every process is being ended
	onTold     happening = "told"     // the plugin has to end
	onGone     happening = "gone"     // no process is left
)

// transitions is THE table: the next phase for each happening and phase. A pair that is
// not in it is a mistake of the supervisor's.
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
