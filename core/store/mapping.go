package store

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/schema"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// This file holds both conversions between rows and the domain's types, and
// nothing else does any. TestMappingKeepsEveryField walks them by reflection.

// threadOf is what an operator has written by SQL, too: a target or a permission
// mode that makes no sense is as none.
func threadOf(row *ent.Thread) ledger.Thread {
	mode := row.PermissionMode
	if ledger.CheckPermissionMode(mode) != nil {
		mode = ""
	}
	return ledger.Thread{
		Thread: pluginsdk.Thread{
			ID: row.ID, Source: row.Source, SourceID: row.SourceID, ReportTo: targetOf(row.ReportTo), Name: row.Name,
			Kind: row.Kind, ParentThreadID: row.ParentThreadID, Status: row.Status, SessionID: row.SessionID,
			Account: row.Account, Model: row.Model, Effort: row.Effort, PermissionMode: mode, Cwd: row.Cwd, Apart: row.Apart,
			Instructions: row.Instructions, BusyMode: row.BusyMode, AskTools: row.AskTools,
			LastActivity: row.LastActivity.UTC(), LastReadMessageID: row.LastReadMessageID, CreatedAt: row.CreatedAt.UTC(),
		},
		SessionOpen: row.SessionOpen, SeenMessageID: row.SeenMessageID, SessionAccount: row.SessionAccount, Epoch: row.Epoch,
	}
}

// toldThreadOf is what plugins see of a thread.
func toldThreadOf(row *ent.Thread) pluginsdk.Thread { return threadOf(row).Thread }

// targetOf reads a column with a target.
func targetOf(text string) pluginsdk.Target {
	target, err := pluginsdk.ParseTarget(text)
	if err != nil {
		return pluginsdk.Target{}
	}
	return target
}

func insertThread(into *ent.ThreadClient, t ledger.Thread) *ent.ThreadCreate {
	return into.Create().
		SetID(t.ID).SetSource(clean(t.Source)).SetSourceID(clean(t.SourceID)).SetReportTo(clean(t.ReportTo.String())).
		SetName(clean(t.Name)).SetKind(t.Kind).SetParentThreadID(t.ParentThreadID).SetStatus(t.Status).
		SetSessionID(clean(t.SessionID)).SetSessionOpen(t.SessionOpen).SetSeenMessageID(t.SeenMessageID).
		SetSessionAccount(clean(t.SessionAccount)).SetAccount(clean(t.Account)).
		SetModel(clean(t.Model)).SetEffort(clean(t.Effort)).SetPermissionMode(clean(t.PermissionMode)).
		SetCwd(clean(t.Cwd)).SetApart(t.Apart).SetInstructions(clean(t.Instructions)).SetBusyMode(t.BusyMode).
		SetAskTools(clean(t.AskTools)).SetLastActivity(instant(t.LastActivity)).SetLastReadMessageID(t.LastReadMessageID).
		SetEpoch(t.Epoch).SetCreatedAt(instant(t.CreatedAt))
}

func messageOf(row *ent.Message) pluginsdk.Message {
	return pluginsdk.Message{
		ID: row.ID, ThreadID: row.ThreadID, Role: row.Role, Kind: row.Kind, Source: row.Source,
		Plugin: row.Plugin, Author: row.Author, Content: row.Content, Model: row.Model, Metadata: orNoJSON(row.Metadata),
		Attachments: row.Attachments, RunID: row.RunID, Key: orEmpty(row.Key), CreatedAt: row.CreatedAt.UTC(), Scope: row.Scope,
		Origin: originOf(row.Origin, row.Apart),
	}
}

// originOf is where a row is from. Of a message, a column of its own says whether it is apart.
func originOf(stored *pluginsdk.Origin, apart bool) pluginsdk.Origin {
	var from pluginsdk.Origin
	if stored != nil {
		from = *stored
	}
	from.Apart = from.Apart || apart
	return from
}

// cleanOrigin is an origin as it is stored; nil: it says nothing.
func cleanOrigin(from pluginsdk.Origin) *pluginsdk.Origin {
	if from == (pluginsdk.Origin{}) {
		return nil
	}
	from.TokenName = clean(from.TokenName)
	return &from
}

// messageColumns are what messageValues returns the values of. Messages are
// inserted more often than anything else, so they go without ent's builders;
// their id is left to the database.
const messageColumns = "thread_id, role, kind, source, plugin, author, content, model, metadata, attachments, run_id, key, created_at, scope, origin"

func messageValues(m pluginsdk.Message) ([]any, error) {
	var metadata, attachments, origin any // NULL, or JSON as text
	from := m.Origin
	from.Apart = false // is a column of its own
	if from := cleanOrigin(from); from != nil {
		encoded, err := json.Marshal(from)
		if err != nil {
			return nil, err
		}
		origin = string(encoded)
	}
	if m.Metadata != nil {
		metadata = string(m.Metadata)
	}
	if m.Attachments != nil {
		encoded, err := json.Marshal(m.Attachments)
		if err != nil {
			return nil, err
		}
		attachments = string(encoded)
	}
	return []any{
		m.ThreadID, string(m.Role), string(m.Kind), clean(m.Source), m.Plugin, clean(m.Author), clean(m.Content), clean(m.Model),
		metadata, attachments, m.RunID, keyOrNil(clean(m.Key)), instant(m.CreatedAt), string(m.Scope), origin,
	}, nil
}

// runOf is a run as plugins see it.
func runOf(row *ent.Run) pluginsdk.Run {
	return pluginsdk.Run{
		ID: row.ID, ThreadID: row.ThreadID, MessageID: row.MessageID, Kind: row.Kind, State: row.State,
		MergedInto: row.MergedInto, Absorbed: row.Absorbed, Failures: row.Failures, CauseRunID: row.CauseRunID, Depth: row.Depth, Step: row.Step,
		OnBehalfOf: pluginsdk.OnBehalf{Source: row.RootSource, Author: row.RootAuthor},
		Attempt:    row.Attempt, NextAttemptAt: orZero(row.NextAttemptAt), TraceID: row.TraceID, SessionID: row.SessionID,
		Result: row.Result, Events: row.Events, Steps: row.Steps, Hooks: row.Hooks,
		Outcomes: row.Outcomes, Error: row.Error,
		Usage: pluginsdk.Usage{
			InputTokens: row.InputTokens, OutputTokens: row.OutputTokens,
			CacheReadTokens: row.CacheReadTokens, CacheWriteTokens: row.CacheWriteTokens,
		},
		CostUSD: row.CostUsd, NotionalUSD: row.NotionalUsd, CostUnsure: row.CostUnsure, QueuedAt: row.QueuedAt.UTC(),
		StartedAt: orZero(row.StartedAt), FinishedAt: orZero(row.FinishedAt),
		Plugin: row.Plugin, Purpose: row.Purpose, TaskID: row.TaskID, Beside: row.Beside,
		Parked: parkedOf(row), Override: row.Override, Account: row.Account,
	}
}

// parkedOf is how a run is parked. The column keeps it while the run is tried again, so that
// another park knows of this one: see ledger.Run.LastParked.
func parkedOf(row *ent.Run) *pluginsdk.Parked {
	if row.State != pluginsdk.RunQueued || row.NextAttemptAt == nil {
		return nil
	}
	return row.Parked
}

// claimedRunOf is a run with what the core keeps in it, but for its commands and what
// a turn asks.
func claimedRunOf(row *ent.Run) ledger.Run {
	return ledger.Run{
		Run: runOf(row), Owner: row.Owner, LeaseUntil: orZero(row.LeaseUntil), PromptHash: row.PromptHash, BesideAs: row.BesideAs,
		Unattended: row.Unattended, LastParked: row.Parked,
	}
}

// commandsJSON are commands as their column has them: nil (NULL) when it is not known
// which there are, which is something else than none.
func commandsJSON(commands []ledger.Command) (json.RawMessage, error) {
	if commands == nil {
		return nil, nil
	}
	return json.Marshal(commands)
}

func insertRun(into *ent.RunClient, r ledger.Run) (*ent.RunCreate, error) {
	commands, err := commandsJSON(r.Commands)
	if err != nil {
		return nil, err
	}
	create := into.Create().
		SetID(r.ID).SetThreadID(r.ThreadID).SetMessageID(r.MessageID).SetKind(r.Kind).SetState(r.State).
		SetMergedInto(r.MergedInto).SetCauseRunID(r.CauseRunID).SetDepth(r.Depth).SetStep(r.Step).
		SetRootSource(clean(r.OnBehalfOf.Source)).SetRootAuthor(clean(r.OnBehalfOf.Author)).
		SetAttempt(r.Attempt).SetNillableNextAttemptAt(nullable(r.NextAttemptAt)).SetOwner(clean(r.Owner)).
		SetNillableLeaseUntil(nullable(r.LeaseUntil)).SetTraceID(clean(r.TraceID)).SetSessionID(clean(r.SessionID)).
		SetPromptHash(clean(r.PromptHash)).SetError(clean(r.Error)).
		SetInputTokens(r.Usage.InputTokens).SetOutputTokens(r.Usage.OutputTokens).
		SetCacheReadTokens(r.Usage.CacheReadTokens).SetCacheWriteTokens(r.Usage.CacheWriteTokens).
		SetCostUsd(r.CostUSD).SetNotionalUsd(r.NotionalUSD).SetCostUnsure(r.CostUnsure).SetQueuedAt(instant(r.QueuedAt)).
		SetNillableStartedAt(nullable(r.StartedAt)).SetNillableFinishedAt(nullable(r.FinishedAt)).
		SetAccount(clean(r.Account)).SetBeside(r.Beside).SetBesideAs(clean(r.BesideAs)).SetUnattended(r.Unattended).SetPlugin(clean(r.Plugin)).SetPurpose(clean(r.Purpose)).SetTaskID(clean(r.TaskID))
	if r.Turn != nil || r.Options != nil {
		var request []byte
		if request, err = json.Marshal(r.Turn); r.Options != nil {
			request, err = json.Marshal(r.Options)
		}
		if err != nil {
			return nil, err
		}
		create.SetRequest(request)
	}
	if r.LastParked != nil {
		create.SetParked(r.LastParked)
	}
	if r.Override != nil {
		create.SetOverride(r.Override)
	}
	if r.Result != nil {
		create.SetResult(r.Result)
	}
	if r.Events != nil {
		create.SetEvents(cleanEvents(r.Events))
	}
	if r.Steps != nil {
		create.SetSteps(r.Steps)
	}
	if r.Hooks != nil {
		create.SetHooks(r.Hooks)
	}
	if r.Outcomes != nil {
		create.SetOutcomes(r.Outcomes)
	}
	if r.Absorbed != nil {
		create.SetAbsorbed(r.Absorbed)
	}
	if r.Failures != nil {
		create.SetFailures(r.Failures)
	}
	if commands != nil {
		create.SetCommands(commands)
	}
	return create, nil
}

func approvalOf(row *ent.Approval) ledger.Approval {
	return ledger.Approval{
		Approval: pluginsdk.Approval{
			ID: row.ID, ThreadID: row.ThreadID, RunID: row.RunID, Kind: row.Kind, State: row.State, Tool: row.Tool,
			Input: orNoJSON(json.RawMessage(row.Input)), Title: row.Title, Text: row.Text, Note: row.Note, Cwd: row.Cwd,
			Questions: row.Questions, Choices: row.Choices, Choice: row.Choice, Answers: row.Answers, Words: row.Words,
			Author: row.Author, Plugin: row.Plugin, RuleID: row.RuleID, Origin: originOf(row.Origin, false),
			CreatedAt: row.CreatedAt.UTC(), ExpiresAt: row.ExpiresAt.UTC(), DecidedAt: orZero(row.DecidedAt), SpentAt: orZero(row.SpentAt),
		},
		Digest: row.Digest, Attempt: row.Attempt, Offers: row.Offers, MessageID: row.MessageID,
	}
}

func insertApproval(into *ent.ApprovalClient, a ledger.Approval) *ent.ApprovalCreate {
	create := into.Create().
		SetID(a.ID).SetThreadID(a.ThreadID).SetRunID(a.RunID).SetKind(a.Kind).SetState(a.State).SetTool(clean(a.Tool)).
		SetInput(clean(string(a.Input))).SetTitle(clean(a.Title)).SetText(clean(a.Text)).SetNote(clean(a.Note)).SetCwd(clean(a.Cwd)).
		SetChoices(a.Choices).SetChoice(a.Choice).SetWords(clean(a.Words)).SetAuthor(clean(a.Author)).SetPlugin(clean(a.Plugin)).
		SetRuleID(a.RuleID).SetCreatedAt(instant(a.CreatedAt)).SetExpiresAt(instant(a.ExpiresAt)).
		SetNillableDecidedAt(nullable(a.DecidedAt)).SetNillableSpentAt(nullable(a.SpentAt)).
		SetDigest(a.Digest).SetAttempt(a.Attempt).SetMessageID(a.MessageID)
	if a.Questions != nil {
		create.SetQuestions(a.Questions)
	}
	if a.Answers != nil {
		create.SetAnswers(a.Answers)
	}
	if a.Offers != nil {
		create.SetOffers(a.Offers)
	}
	if from := cleanOrigin(a.Origin); from != nil {
		create.SetOrigin(from)
	}
	return create
}

func approvalRuleOf(row *ent.ApprovalRule) pluginsdk.ApprovalRule {
	return pluginsdk.ApprovalRule{
		ID: row.ID, ThreadID: row.ThreadID, Tool: row.Tool, Kind: row.Kind, Value: row.Value, Text: row.Text,
		Author: row.Author, Plugin: row.Plugin, ApprovalID: row.ApprovalID, CreatedAt: row.CreatedAt.UTC(),
	}
}

func insertApprovalRule(into *ent.ApprovalRuleClient, r pluginsdk.ApprovalRule) *ent.ApprovalRuleCreate {
	return into.Create().
		SetID(r.ID).SetThreadID(r.ThreadID).SetTool(clean(r.Tool)).SetKind(r.Kind).SetValue(clean(r.Value)).SetText(clean(r.Text)).
		SetAuthor(clean(r.Author)).SetPlugin(clean(r.Plugin)).SetApprovalID(r.ApprovalID).SetCreatedAt(instant(r.CreatedAt))
}

// insertAgentRun leaves the id to the database.
func insertAgentRun(into *ent.AgentRunClient, r ledger.AgentRun) *ent.AgentRunCreate {
	return into.Create().
		SetRunID(r.RunID).SetTaskID(r.TaskID).SetThreadID(r.ThreadID).SetPlugin(clean(r.Plugin)).SetCron(clean(r.Cron)).SetPurpose(clean(r.Purpose)).
		SetModel(clean(r.Model)).SetInputTokens(r.Usage.InputTokens).SetOutputTokens(r.Usage.OutputTokens).
		SetCacheReadTokens(r.Usage.CacheReadTokens).SetCacheWriteTokens(r.Usage.CacheWriteTokens).
		SetAccount(clean(r.Account)).SetNotional(r.Notional).SetCostUnsure(r.CostUnsure).
		SetCostUsd(r.CostUSD).SetDurationNs(int64(r.Duration)).SetSuccess(r.Success).
		SetError(clean(r.Error)).SetStartedAt(instant(r.StartedAt))
}

// insertAgentRunModels leaves the ids to the database.
func insertAgentRunModels(into *ent.AgentRunModelClient, agentRunID int64, models []pluginsdk.ModelUsage) *ent.AgentRunModelCreateBulk {
	return into.MapCreateBulk(models, func(create *ent.AgentRunModelCreate, i int) {
		m := models[i]
		create.SetAgentRunID(agentRunID).SetModel(clean(m.Model)).SetInputTokens(m.Usage.InputTokens).SetOutputTokens(m.Usage.OutputTokens).
			SetCacheReadTokens(m.Usage.CacheReadTokens).SetCacheWriteTokens(m.Usage.CacheWriteTokens).SetCostUsd(m.CostUSD)
	})
}

func accountOf(row *ent.Account) ledger.Account {
	a := ledger.Account{
		Name: row.ID, Kind: row.Kind, Default: row.IsDefault, Overage: row.Overage, Fallback: row.Fallback,
		DailyLimitUSD: row.DailyLimitUsd, Home: row.Home, CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(),
	}
	if row.Key != nil {
		a.Key = *row.Key
	}
	return a
}

func insertAccount(into *ent.AccountClient, a ledger.Account) *ent.AccountCreate {
	create := into.Create().SetID(a.Name).SetKind(a.Kind).SetIsDefault(a.Default).SetOverage(a.Overage).SetFallback(clean(a.Fallback)).
		SetDailyLimitUsd(a.DailyLimitUSD).SetHome(clean(a.Home)).SetCreatedAt(instant(a.CreatedAt)).SetUpdatedAt(instant(a.UpdatedAt))
	if len(a.Key) > 0 {
		create.SetKey(a.Key)
	}
	return create
}

func planStateOf(row *ent.PlanWindow) ledger.PlanState {
	return ledger.PlanState{
		PlanWindow: pluginsdk.PlanWindow{
			Account: row.Account, Name: row.Name, Model: row.Model, Used: row.Used, Status: row.Status,
			ResetsAt: orZero(row.ResetsAt), Overage: row.Overage, SeenAt: row.SeenAt.UTC(),
		},
		Warned: row.Warned, FirstUsed: row.FirstUsed, FirstSeen: row.FirstSeen.UTC(),
	}
}

func insertPlanState(into *ent.PlanWindowClient, w ledger.PlanState) *ent.PlanWindowCreate {
	return into.Create().SetAccount(clean(w.Account)).SetName(clean(w.Name)).SetModel(clean(w.Model)).SetUsed(w.Used).SetStatus(w.Status).
		SetNillableResetsAt(nullable(w.ResetsAt)).SetOverage(w.Overage).SetSeenAt(instant(w.SeenAt)).SetWarned(w.Warned).
		SetFirstUsed(w.FirstUsed).SetFirstSeen(instant(w.FirstSeen))
}

func deliveryOf(row *ent.Delivery) pluginsdk.Delivery {
	return pluginsdk.Delivery{
		ID: row.ID, MessageID: row.MessageID, Plugin: row.Plugin, Place: row.Target, State: row.State,
		Attempt: row.Attempt, NextAttemptAt: orZero(row.NextAttemptAt), LastError: row.LastError,
		ExternalID: row.ExternalID, CreatedAt: row.CreatedAt.UTC(),
	}
}

func insertDelivery(into *ent.DeliveryClient, d pluginsdk.Delivery) *ent.DeliveryCreate {
	return into.Create().
		SetID(d.ID).SetMessageID(d.MessageID).SetPlugin(d.Plugin).SetTarget(d.Place).SetState(d.State).
		SetAttempt(d.Attempt).SetNillableNextAttemptAt(nullable(d.NextAttemptAt)).
		SetLastError(clean(d.LastError)).SetExternalID(clean(d.ExternalID)).SetCreatedAt(instant(d.CreatedAt))
}

// taskOf is a task with what the core keeps in it, but for its cost.
func taskOf(row *ent.Task) ledger.Task {
	return ledger.Task{
		Task: pluginsdk.Task{
			ID: row.ID, ThreadID: row.ThreadID, ParentThreadID: row.ParentThreadID, ParentTaskID: row.ParentTaskID,
			Depth: row.Depth, Plugin: row.Plugin, Key: orEmpty(row.Key), Status: row.Status, OriginalMessage: row.OriginalMessage,
			Prompt: row.Prompt, Model: row.Model, Account: row.Account, PermissionMode: row.PermissionMode, AllowedTools: row.AllowedTools,
			Cwd: row.Cwd, CwdPlugin: row.CwdPlugin, OwnDirectory: row.OwnDirectory, FromTaskID: row.FromTaskID, Context: row.Context, Labels: row.Labels, RequestedBy: row.RequestedBy, Origin: originOf(row.Origin, false), Wake: row.Wake,
			CurrentIteration: row.CurrentIteration,
			MaxIterations:    row.MaxIterations, ValidationIterations: row.ValidationIterations,
			MaxValidationIterations: row.MaxValidationIterations, CostCapUSD: row.CostCapUsd,
			RunID: row.RunID, Marks: row.Marks, Result: row.Result, Feedback: row.Feedback, Error: row.Error,
			CreatedAt: row.CreatedAt.UTC(), CompletedAt: orZero(row.CompletedAt),
		},
		Phase: ledger.TaskPhase(row.Phase), Epoch: row.Epoch, Round: row.Round, Settled: row.Settled,
		Failures: row.Failures, NotBefore: orZero(row.NotBefore), Agains: row.Agains, CauseRunID: row.CauseRunID,
		AskedAccount: row.AskedAccount, AskedPermissionMode: row.AskedPermissionMode, AskedCwd: row.AskedCwd, AskedLabels: row.AskedLabels,
		AskedAllowedTools: row.AskedAllowedTools, FirstCwd: row.FirstCwd, OwnIterations: row.OwnIterations, AskedCostCapUSD: row.AskedCostCapUsd,
	}
}

func insertTask(into *ent.TaskClient, t ledger.Task) *ent.TaskCreate {
	create := into.Create().
		SetID(t.ID).SetThreadID(t.ThreadID).SetParentThreadID(t.ParentThreadID).SetParentTaskID(t.ParentTaskID).
		SetDepth(t.Depth).SetPlugin(t.Plugin).SetNillableKey(keyOrNil(clean(t.Key))).SetStatus(t.Status).
		SetOriginalMessage(clean(t.OriginalMessage)).SetPrompt(clean(t.Prompt)).SetModel(clean(t.Model)).
		SetPermissionMode(clean(t.PermissionMode)).SetCwd(clean(t.Cwd)).SetCwdPlugin(t.CwdPlugin).SetContext(clean(t.Context)).
		SetRequestedBy(clean(t.RequestedBy)).SetWake(t.Wake).
		SetCurrentIteration(t.CurrentIteration).SetMaxIterations(t.MaxIterations).
		SetValidationIterations(t.ValidationIterations).SetMaxValidationIterations(t.MaxValidationIterations).
		SetCostCapUsd(t.CostCapUSD).SetRunID(t.RunID).SetResult(clean(t.Result)).SetFeedback(clean(t.Feedback)).
		SetError(clean(t.Error)).SetCreatedAt(instant(t.CreatedAt)).SetNillableCompletedAt(nullable(t.CompletedAt)).
		SetPhase(string(t.Phase)).SetEpoch(t.Epoch).SetRound(t.Round).SetSettled(t.Settled).SetFailures(t.Failures).
		SetNillableNotBefore(nullable(t.NotBefore)).SetAgains(t.Agains).SetCauseRunID(t.CauseRunID).SetAskedCwd(clean(t.AskedCwd)).
		SetAskedPermissionMode(clean(t.AskedPermissionMode)).SetFirstCwd(clean(t.FirstCwd)).
		SetOwnDirectory(t.OwnDirectory).SetFromTaskID(t.FromTaskID).SetAccount(clean(t.Account)).SetAskedAccount(clean(t.AskedAccount)).
		SetAskedCostCapUsd(t.AskedCostCapUSD)
	if from := cleanOrigin(t.Origin); from != nil {
		create.SetOrigin(from)
	}
	if len(t.AllowedTools) > 0 {
		create.SetAllowedTools(t.AllowedTools)
	}
	if len(t.Labels) > 0 {
		create.SetLabels(t.Labels)
	}
	if len(t.AskedLabels) > 0 {
		create.SetAskedLabels(t.AskedLabels)
	}
	if len(t.AskedAllowedTools) > 0 {
		create.SetAskedAllowedTools(t.AskedAllowedTools)
	}
	if len(t.Marks) > 0 {
		create.SetMarks(t.Marks)
	}
	if len(t.OwnIterations) > 0 {
		create.SetOwnIterations(t.OwnIterations)
	}
	return create
}

// updateTask sets what moves of a task change.
func updateTask(update *ent.TaskUpdate, t ledger.Task) *ent.TaskUpdate {
	update.SetStatus(t.Status).SetPhase(string(t.Phase)).SetRound(t.Round).SetSettled(t.Settled).
		SetFailures(t.Failures).SetAgains(t.Agains).SetCwd(clean(t.Cwd)).SetCwdPlugin(t.CwdPlugin).SetContext(clean(t.Context)).
		SetCurrentIteration(t.CurrentIteration).SetValidationIterations(t.ValidationIterations).SetRunID(t.RunID).
		SetResult(clean(t.Result)).SetFeedback(clean(t.Feedback)).SetError(clean(t.Error)).
		SetPermissionMode(clean(t.PermissionMode)).SetCostCapUsd(t.CostCapUSD).
		SetNillableNotBefore(nullable(t.NotBefore)).SetNillableCompletedAt(nullable(t.CompletedAt))
	if len(t.AllowedTools) > 0 {
		update.SetAllowedTools(t.AllowedTools)
	} else {
		update.ClearAllowedTools()
	}
	if t.NotBefore.IsZero() {
		update.ClearNotBefore()
	}
	if len(t.Labels) > 0 {
		update.SetLabels(t.Labels)
	} else {
		update.ClearLabels()
	}
	if len(t.Marks) > 0 {
		update.SetMarks(t.Marks)
	} else {
		update.ClearMarks()
	}
	if len(t.OwnIterations) > 0 {
		update.SetOwnIterations(t.OwnIterations)
	}
	return update
}

func taskAnswerOf(row *ent.TaskAnswer) ledger.TaskAnswer {
	return ledger.TaskAnswer{
		ID: row.ID, TaskID: row.TaskID, Iteration: row.Iteration, Round: row.Round, Phase: ledger.TaskPhase(row.Phase), Plugin: row.Plugin, Author: row.Author,
		Answer: row.Answer, Feedback: row.Feedback, Evidence: row.Evidence, At: row.CreatedAt.UTC(), Origin: originOf(row.Origin, false),
	}
}

func insertTaskAnswer(into *ent.TaskAnswerClient, a ledger.TaskAnswer) *ent.TaskAnswerCreate {
	create := into.Create().
		SetTaskID(a.TaskID).SetIteration(a.Iteration).SetRound(a.Round).SetPhase(string(a.Phase)).SetPlugin(a.Plugin).SetAuthor(clean(a.Author)).
		SetAnswer(clean(a.Answer)).SetFeedback(clean(a.Feedback)).SetCreatedAt(instant(a.At))
	if len(a.Evidence) > 0 {
		create.SetEvidence(cleanEvidence(a.Evidence))
	}
	if from := cleanOrigin(a.Origin); from != nil {
		create.SetOrigin(from)
	}
	return create
}

func cleanEvidence(evidence []pluginsdk.Evidence) []pluginsdk.Evidence {
	out := slices.Clone(evidence)
	for i, e := range out {
		out[i].Kind, out[i].Command, out[i].Output = clean(e.Kind), clean(e.Command), clean(e.Output)
		out[i].File, out[i].Diff, out[i].Tree = clean(e.File), clean(e.Diff), clean(e.Tree)
	}
	return out
}

// cronOf leaves out a target that makes no sense.
func cronOf(row *ent.CronJob) pluginsdk.CronJob {
	reportTo, _ := pluginsdk.ParseTarget(row.Target)
	return pluginsdk.CronJob{
		ID: row.ID, Enabled: bool(row.Enabled), CreatedAt: keepable(row.CreatedAt.UTC()),
		Spec: pluginsdk.CronSpec{
			Name: row.Name, Schedule: row.Schedule, FireAt: keepable(orZero(row.FireAt)), Timezone: row.Timezone,
			Prompt: row.Prompt, ThreadID: row.ThreadID, ReportTo: reportTo, Missed: row.Missed,
			Lateness: durationOf(row.Lateness), Overlap: row.Overlap, Jitter: durationOf(row.Jitter),
			Until: keepable(orZero(row.Until)), Except: row.Except, Hours: row.Hours,
			Report: row.Report, Session: row.Session, CostCapUSD: row.CostCapUsd, Timeout: durationOf(row.Timeout), IfRoom: bool(row.IfRoom),
			When: row.WhenCommand, Model: row.Model, PermissionMode: row.PermissionMode, Tools: linesOf(row.Tools),
			Trigger: row.Trigger, Keep: durationOf(row.Keep),
		},
		Status: pluginsdk.CronStatus{
			LastRun: keepable(orZero(row.LastRun)), NextRun: keepable(orZero(row.NextRun)), LastResult: row.LastResult,
			Failures: row.Failures, Mark: row.Mark,
		},
	}
}

func insertCron(into *ent.CronJobClient, j pluginsdk.CronJob) *ent.CronJobCreate {
	return into.Create().
		SetID(j.ID).SetName(clean(j.Spec.Name)).SetSchedule(clean(j.Spec.Schedule)).SetNillableFireAt(nullable(j.Spec.FireAt)).
		SetTimezone(clean(j.Spec.Timezone)).SetPrompt(clean(j.Spec.Prompt)).SetThreadID(j.Spec.ThreadID).
		SetTarget(clean(j.Spec.ReportTo.String())).SetMissed(j.Spec.Missed).
		SetLateness(durationText(j.Spec.Lateness)).SetOverlap(j.Spec.Overlap).SetJitter(durationText(j.Spec.Jitter)).
		SetNillableUntil(nullable(j.Spec.Until)).SetExcept(clean(j.Spec.Except)).SetHours(clean(j.Spec.Hours)).
		SetReport(j.Spec.Report).SetSession(j.Spec.Session).SetCostCapUsd(j.Spec.CostCapUSD).SetTimeout(durationText(j.Spec.Timeout)).
		SetIfRoom(schema.Switch(j.Spec.IfRoom)).SetWhenCommand(clean(j.Spec.When)).SetModel(clean(j.Spec.Model)).
		SetPermissionMode(clean(j.Spec.PermissionMode)).SetTools(clean(strings.Join(j.Spec.Tools, "\n"))).
		SetTrigger(clean(j.Spec.Trigger)).SetKeep(durationText(j.Spec.Keep)).
		SetEnabled(schema.Switch(j.Enabled)).SetFailures(j.Status.Failures).SetMark(clean(j.Status.Mark)).
		SetNillableLastRun(nullable(j.Status.LastRun)).SetNillableNextRun(nullable(j.Status.NextRun)).
		SetLastResult(clean(j.Status.LastResult)).SetCreatedAt(instant(j.CreatedAt))
}

// linesOf are the lines of a column that operators edit, without those that are empty.
func linesOf(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// durationText is how a column that operators edit has a duration: 1h30m0s; empty: 0.
func durationText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// durationOf reads a column with a duration. A text that is none, or a negative one, is noDuration.
func durationOf(text string) time.Duration {
	if text = strings.TrimSpace(text); text == "" {
		return 0
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d
	}
	return noDuration
}

// noDuration stands for a text that is no duration: who reads it sees that it is wrong.
const noDuration time.Duration = -1

func cronFireOf(row *ent.CronFire) pluginsdk.CronFire {
	return pluginsdk.CronFire{
		JobID: row.JobID, Job: row.Job, Due: keepable(row.Due.UTC()), Until: keepable(orZero(row.Until)), Count: row.Count,
		Cause: row.Cause, State: row.State, Reason: row.Reason, Data: row.Data, RunID: row.RunID, CostUSD: row.CostUsd,
		DecidedAt: keepable(orZero(row.DecidedAt)), EndedAt: keepable(orZero(row.EndedAt)),
	}
}

func insertCronFire(into *ent.CronFireCreate, f pluginsdk.CronFire) {
	into.SetJobID(f.JobID).SetJob(clean(f.Job)).SetDue(instant(f.Due)).SetNillableUntil(nullable(f.Until)).SetCount(f.Count).
		SetCause(f.Cause).SetState(f.State).SetReason(clean(f.Reason)).SetData(clean(f.Data)).SetRunID(clean(f.RunID)).SetCostUsd(f.CostUSD).
		SetNillableDecidedAt(nullable(f.DecidedAt)).SetNillableEndedAt(nullable(f.EndedAt))
}

func fileOf(row *ent.File) ledger.KeptFile {
	return ledger.KeptFile{
		File: pluginsdk.File{
			ID: row.ID, SHA256: row.Sha256, Name: row.Name, Type: row.Type, Size: row.Size, ThreadID: row.ThreadID,
			Plugin: row.Plugin, Author: row.Author, CreatedAt: keepable(row.CreatedAt.UTC()),
		},
		Key: orEmpty(row.Key), Attached: bool(row.Attached),
	}
}

// toldFileOf is what plugins see of a file.
func toldFileOf(row *ent.File) pluginsdk.File { return fileOf(row).File }

func insertFile(into *ent.FileClient, f ledger.KeptFile) *ent.FileCreate {
	return into.Create().
		SetID(f.ID).SetSha256(clean(f.SHA256)).SetName(clean(f.Name)).SetType(clean(f.Type)).SetSize(f.Size).
		SetThreadID(clean(f.ThreadID)).SetPlugin(clean(f.Plugin)).SetAuthor(clean(f.Author)).
		SetNillableKey(keyOrNil(clean(f.Key))).SetAttached(schema.Switch(f.Attached)).SetCreatedAt(instant(f.CreatedAt))
}

func metricOf(row *ent.Metric) pluginsdk.Metric {
	return pluginsdk.Metric{
		ID: row.ID, Plugin: row.Plugin, Key: orEmpty(row.Key), Name: row.Name, Value: row.Value, Tags: row.Tags,
		ThreadID: row.ThreadID, CreatedAt: keepable(row.CreatedAt.UTC()),
	}
}

// metricColumns are what metricValues returns the values of; see messageColumns.
const metricColumns = "plugin, key, name, value, tags, thread_id, created_at"

func metricValues(m pluginsdk.Metric) ([]any, error) {
	var tags any // NULL, or JSON as text
	if len(m.Tags) > 0 {
		encoded, err := json.Marshal(m.Tags)
		if err != nil {
			return nil, err
		}
		tags = string(encoded)
	}
	return []any{m.Plugin, keyOrNil(clean(m.Key)), clean(m.Name), m.Value, tags, clean(m.ThreadID), instant(m.CreatedAt)}, nil
}

func stateEntryOf(row *ent.StateEntry) pluginsdk.StateEntry {
	return pluginsdk.StateEntry{Key: row.Key, Value: row.Value, Revision: row.Revision}
}

func tokenOf(row *ent.Token) ledger.Token {
	return ledger.Token{
		Token: pluginsdk.Token{
			ID: row.ID, Name: row.Name, Kind: pluginsdk.TokenKind(row.Kind), Scope: pluginsdk.TokenScope(row.Scope), ParentID: row.ParentID,
			CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt.UTC(), ExpiresAt: orZero(row.ExpiresAt), LastUsedAt: orZero(row.LastUsedAt),
		},
		Hash: row.Hash, RevokedAt: orZero(row.RevokedAt),
	}
}

func insertToken(into *ent.TokenClient, t ledger.Token) *ent.TokenCreate {
	return into.Create().SetID(t.ID).SetName(clean(t.Name)).SetKind(string(t.Kind)).SetScope(string(t.Scope)).SetParentID(t.ParentID).
		SetHash(t.Hash).SetCreatedBy(clean(t.CreatedBy)).SetCreatedAt(instant(t.CreatedAt)).
		SetNillableExpiresAt(nullable(t.ExpiresAt)).SetNillableLastUsedAt(nullable(t.LastUsedAt)).SetNillableRevokedAt(nullable(t.RevokedAt))
}

func auditOf(row *ent.AuditEntry) AuditEntry {
	return AuditEntry{
		ID: row.ID, Who: row.Who, Action: row.Action, Target: row.Target,
		Detail: row.Detail, CreatedAt: row.CreatedAt.UTC(),
	}
}

// orNoJSON makes what was never set look the same on both databases.
func orNoJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	return raw
}

// all converts a list of rows.
func all[Row, Domain any](rows []*Row, convert func(*Row) Domain) []Domain {
	out := make([]Domain, 0, len(rows))
	for _, row := range rows {
		out = append(out, convert(row))
	}
	return out
}

// nullable is a time for a column that holds NULL for none.
func nullable(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = instant(t)
	return &t
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// keyOrNil is a key for a column that holds NULL for none.
func keyOrNil(key string) *string {
	if key == "" {
		return nil
	}
	return &key
}

func orEmpty(key *string) string {
	if key == nil {
		return ""
	}
	return *key
}

func workspaceChangeOf(row *ent.WorkspaceChange) pluginsdk.WorkspaceChange {
	return pluginsdk.WorkspaceChange{
		ID: row.ID, Path: row.Path, Kind: row.Kind, Before: row.Before, Version: row.Version, Size: row.Size,
		Author: row.Author, Plugin: row.Plugin, ThreadID: row.ThreadID, RunID: row.RunID, At: row.CreatedAt.UTC(),
		Origin: originOf(row.Origin, false),
	}
}

// insertWorkspaceChange leaves the id to the database.
func insertWorkspaceChange(into *ent.WorkspaceChangeClient, c pluginsdk.WorkspaceChange) *ent.WorkspaceChangeCreate {
	create := into.Create().
		SetPath(c.Path).SetKind(c.Kind).SetBefore(c.Before).SetVersion(c.Version).SetSize(c.Size).SetAuthor(clean(c.Author)).
		SetPlugin(c.Plugin).SetThreadID(c.ThreadID).SetRunID(c.RunID).SetCreatedAt(instant(c.At))
	if from := cleanOrigin(c.Origin); from != nil {
		create.SetOrigin(from)
	}
	return create
}
