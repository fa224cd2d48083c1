package agentcheck

import "path/filepath"

// groups are the lines, in the order in which the report has them.
var groups = []group{
	{name: "session", with: conversation, lines: []line{
		{"starts and answers", startsAndAnswers},
		{"the session id is the one that Harness chose", sessionIsOurs},
		{"a turn costs what the API bills", costsWhatTheAPIBills},
		{"a cost cap stops a turn", capStopsATurn},
		{"stop ends the turn and keeps the process", stopKeepsTheProcess},
		{"a message sent during a turn reaches it", steerReachesTheTurn},
		{"a message sent during a turn can be withdrawn", steeredLineCanBeTakenBack},
		{"a permission request waits for its answer", questionWaits},
		{"an allowed call runs", allowedCallRuns},
		{"a denial reaches the agent with the reason", denialReachesTheAgent},
		{"an allowed tool is not asked about", allowedRuleIsNotAsked},
		{"a denied tool is denied", deniedToolIsDenied},
		{"files that grant permissions are always asked about", guardedFilesAreAskedAbout},
		{"the CLI's own schedules and tasks are not offered", ownToolsAreNotOffered},
		{"an image in a message reaches the model", fileIsShown},
		{"a refusal of the model is reported", refusalIsTold},
		{"an API error is reported", apiErrorIsTold},
		{"commands end with their turn", backgroundEndsWithItsTurn},
		{"sub-agents end with their turn", subAgentEndsWithItsTurn},
		{"sub-agents above the limit are asked about", subAgentsAreAskedAbout},
		{"the CLI keeps no memory of its own", nothingRemembers},
		{"no other process can write into a session", nobodyElseSpeaks},
		{"the CLI lists the permissions of a session", saysWhatRightsThereAre},
		{"a fresh session leaves no transcript", freshSessionLeavesNothing},
	}},
	{name: "resume", lines: []line{
		{"CLAUDE.md is in the prompt", manualIsInThePrompt},
		{"an edited CLAUDE.md holds with the next turn", changedManualHolds},
		{"resumes after a clean end", resumesAfterACleanEnd},
		{"resumes after kill -9", resumesAfterAKill},
		{"a resumed turn is charged once", resumedTurnCostsItsOwn},
		{"an unknown session is reported", unknownSessionIsTold},
		{"an existing session is resumed", existingSessionIsResumed},
	}},
	{name: "plan mode", lines: []line{
		{"a plan reaches the person whole", planArrivesWhole},
		{"plan mode is restored after an accepted plan", planModeHoldsAgain},
	}},
	{name: "plugin tools and a plan", with: toolsAndLogin, lines: []line{
		{"plugin tools are offered at once", pluginToolsAtOnce},
		{"plugin tools change in a warm session", pluginToolsAddedLater},
		{"plan usage is reported", windowFiguresAreTold},
		{"a used-up plan says when it resets", usedUpWindowIsTold},
	}},
	{name: "many plugin tools", with: withTools(manyTools()...), lines: []line{
		{"many plugin tools are found by search", manyToolsAreFound},
	}},
	{name: "structured output", lines: []line{
		{"a JSON schema is filled in", goodSchema},
		{"a bad JSON schema is refused with the reason", badSchemaIsRefused},
	}},
	{name: "permissions", lines: []line{
		{"files that the agent can write grant no permissions", filesGiveNoRights},
	}},
	{name: "threads apart", lines: []line{
		{"a thread apart cannot read the workspace", apartCannotReadTheWorkspace},
	}},
}

// conversation gives a world the rules that its lines speak of.
func conversation(w *world) {
	w.config.SubAgents = subAgents
	w.config.AllowedTools = []string{"Bash(mkdir:*)", "Bash(sleep:*)", "Write"}
	w.config.DisallowedTools = []string{"WebSearch", "Read(/" + filepath.Join(w.work, "denied") + "/**)"}
}

// toolsAndLogin gives a world plugin tools, and a login that has a plan.
func toolsAndLogin(w *world) {
	withTools("time__now", "time__zone")(w)
	login(w)
}

// subAgents is how many sub-agents a turn of the conversation starts without a question.
const subAgents = 2
