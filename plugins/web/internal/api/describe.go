package api

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// chapter is a tag of the description: operations that one reads of together.
type chapter struct {
	name, words string
	// parts are what comes behind /api in the paths of its operations.
	parts []string
}

// chapters are in the order in which one meets what they are about.
var chapters = []chapter{
	{"Talking", "Messages to the agent, and the runs that answer them.", []string{"chat", "runs"}},
	{"Conversations", "Threads, and what was said in them.", []string{"threads", "search"}},
	{"Approvals", "What the agent asks before it does something.", []string{"approvals", "rules"}},
	{"Accounts", "What the agent authenticates with, and how much of its plans is used.", []string{"accounts", "plan"}},
	{"Tasks", "Work that was handed on.", []string{"tasks"}},
	{"Workflows", "Requests that are built in stages, each reviewed before the next.", []string{"workflows"}},
	{"Schedules", "Jobs that begin by themselves.", []string{"crons"}},
	{"Files", "What people and the agent send each other beside words.", []string{"files"}},
	{"Workspace", "What the agent is told in each of its turns.", []string{"context", "workspace", "memory"}},
	{"Tools and commands", "What plugins give the agent, and what people can type.", []string{"tools", "commands"}},
	{"Deliveries", "What is on its way to people elsewhere.", []string{"deliveries"}},
	{"Plugins", "What is installed, what it may do, how it does.", []string{"plugins"}},
	{"Installation", "How the daemon is, what was done to it and what it has cost; its backups.", []string{"health", "doctor", "audit", "usage", "budgets", "pause", "backups"}},
	{"Tokens", "Who may call, and as whom.", []string{"tokens", "login", "logout", "session", "me"}},
}

// consent is how what needs it is asked for.
const consent = "It takes two requests. Without digest it is planned, and nothing is changed: the plan says what would be done, " +
	"and what the plugin wants. With the digest of that plan the same request is carried out; 409 when what would be done is not what was shown any more.\n\n" +
	"A daemon's plugin web decides what it may grant itself. What it may not, such as variables of the environment and plugins.admin, " +
	"and whatever has to be forced, is decided at the command line of the daemon's machine: 403 names the command."

// paragraphs are what there is to say of operations beside their summaries.
var paragraphs = map[string]string{
	"chat": "The answer comes when the message and its run are stored, before the agent is asked. How the run goes is told by " +
		"events over /ws, or by GET /api/runs/{id}. With an idempotencyKey the request can be repeated: the first one's ids are returned.",
	"resume-run": "Without a body it is tried again as it is; model and fallback need the scope approve. A run that is not parked: 409. fallback without an account that has a daily limit: 422. " +
		"What a model or a fallback costs is as for any other run; the fallback's daily limit holds.",
	"create-account":  "An account of the kind login is not usable before somebody has logged in on the daemon's machine: harness account login NAME.",
	"delete-account":  "Of a login the directory stays. 409: it is environment, or a thread, a run that is not over or another account names it.",
	"get-rights":      "meant are the rules that Harness gives the agent's program, said those that the program says it has; known is false when it cannot tell. In the thread of a task the rules are those of the task's turns.",
	"get-plan":        "windows are the limits of the plans, as they were last seen. fullAt is when one is used up at the pace so far; it is absent when the limit resets before that.",
	installPlugin:     consent,
	upgradePlugin:     consent,
	"rollback-plugin": consent,
	removePlugin:      consent + "\n\nThe plugin is turned off first, and its end waited for.",
	"grant-plugin":    "Only what its manifest asks for, and what the daemon's plugin web has been granted itself, but for plugins.admin.",
	"limit-plugin":    "Up to the limits of the daemon's plugin web. What is absent stays; 0 is the default, a negative number no limit.",
	"order-plugins":   "Give either name with one of before and after, or names. The daemon's plugin web keeps its own place.",
	makeBackup: "The answer comes when the backup is whole; a client that leaves has it given up. One is made at a time: 503 while another is. " +
		"It stays in DATA/backups until it is deleted, and is in no other backup.",
	fetchBackup: "Content-Length is the whole of it; a connection that breaks off before has not sent all. " +
		"A client that reads nothing for a minute is sent away.",
	"usage":                "What has been recorded of each turn of the agent up to now, failed turns included. Days are those of UTC.",
	"set-pause":            "Turns that plugins ask for, tasks, scheduled jobs and what runs have caused wait until it is taken back, also over a restart. People are answered all the same.",
	"doctor":               "What `harness doctor` looks at, from inside of the daemon. It reads the whole database; those who ask at a time get one answer.",
	"list-deliveries":      "Oldest first, unless newest is set; the cursor goes on in that order.",
	"list-tasks":           "Oldest first, unless newest is set; the cursor goes on in that order.",
	"list-threads":         "In the order that order names, the oldest first by default; the cursor goes on in that order.",
	"consolidate":          "It goes on after the answer; its state says what becomes of it. It is a command of a person's in the primary thread, as revert is: 409 when it waits there behind something else, to be carried out after that, and when the plugin refuses it.",
	"revert-consolidation": "Byte for byte. Lines that have come to the end of the inbox since stay. 409 when memory.md, or the inbox in another way, was changed since.",
	"start-workflow": "It is the command /workflow start in the primary thread, in the caller's name: the workflow belongs to that thread, which is told how it ends. " +
		"What the plugin refuses, such as an unknown agent or a directory that another workflow works in, is 422; 409 when the command waits there behind something else, to be carried out after that.",
	"continue-workflow": "It is the command /workflow continue in the primary thread, in the caller's name, as stop and abandon are: 409 when the plugin refuses it, or it waits there behind something else. " +
		"rounds, redesigns and tries are added to the limits of this workflow; costUsd takes the place of its cap.",
	callTool: "Waits for as long as the tool takes, an hour at most. A client that leaves has the call given up.",
}

// describe gives the operations their tags, and words where the summary does not say it all.
func describe(of *huma.OpenAPI) {
	for _, chapter := range chapters {
		of.Tags = append(of.Tags, &huma.Tag{Name: chapter.name, Description: chapter.words})
	}
	for path, item := range of.Paths {
		for _, operation := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if operation == nil {
				continue
			}
			if len(operation.Tags) == 0 {
				operation.Tags = []string{tagOf(path)}
			}
			if operation.Description == "" {
				operation.Description = paragraphs[operation.OperationID]
			}
		}
	}
}

// tagOf is the chapter of a path.
func tagOf(path string) string {
	part, _, _ := strings.Cut(strings.TrimPrefix(path, "/api/"), "/")
	for _, chapter := range chapters {
		for _, one := range chapter.parts {
			if one == part {
				return chapter.name
			}
		}
	}
	return "Other"
}

// scopeNeeded is what an operation needs of a token; empty: nothing is said.
func scopeNeeded(operation *huma.Operation) pluginsdk.TokenScope {
	scope, _ := operation.Metadata[scopeOf].(pluginsdk.TokenScope)
	return scope
}
