package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/taskview"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/workflowview"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// completionPatience is how long a shell waits for names that the daemon is asked for.
const completionPatience = 2 * time.Second

// names finds words that complete a command line, each perhaps with a description after a
// tab. Nothing is said of what goes wrong: there is nobody to read it.
type names func(cmd *cobra.Command, args []string) []string

// addCompletions has shells complete the names of plugins, capabilities, tools, tasks, approvals, files and
// threads, and what can be typed in a thread.
// A command that takes a plugin is known by where it stands and by NAME in its use.
func addCompletions(root *cobra.Command) {
	commands := []*cobra.Command{root}
	for n := 0; n < len(commands); n++ {
		cmd := commands[n]
		commands = append(commands, cmd.Commands()...)
		path, _, _ := strings.Cut(strings.TrimPrefix(cmd.CommandPath(), "harness "), " ")
		takesName := strings.HasPrefix(cmd.Use, cmd.Name()+" NAME")
		switch {
		case cmd.Name() == "new":
		case path == "plugin" && (cmd.Name() == "grant" || cmd.Name() == "revoke"):
			complete(cmd, pluginNames, capabilityNames)
		case path == "plugin" && takesName:
			complete(cmd, pluginNames, nil)
		case path == "tools" && takesName:
			complete(cmd, toolNames, nil)
		case path == "thread" && strings.HasPrefix(cmd.Use, cmd.Name()+" ID"):
			complete(cmd, threadNames, nil)
		case path == "context" && strings.HasPrefix(cmd.Use, cmd.Name()+" PATH"):
			complete(cmd, contextPaths, nil)
		case path == "task" && strings.HasPrefix(cmd.Use, cmd.Name()+" ID"):
			complete(cmd, taskNames, nil)
		case path == "workflow" && strings.HasPrefix(strings.Trim(strings.TrimPrefix(cmd.Use, cmd.Name()), " ["), "ID"):
			complete(cmd, workflowNames, nil)
		case path == "approvals" && strings.HasPrefix(cmd.Use, cmd.Name()+" ID"):
			complete(cmd, approvalNames, nil)
		case cmd == root:
			complete(cmd, pluginCommands, pluginChoices)
		case cmd.CommandPath() == "harness send":
			complete(cmd, typedNames, typedChoices)
		case path == "file" && strings.HasPrefix(cmd.Use, cmd.Name()+" ID"):
			complete(cmd, fileNames, fileNames)
		case path == "approvals" && cmd.Name() == "revoke":
			complete(cmd, ruleNames, nil)
		}
		if cmd.Flags().Lookup("thread") != nil {
			_ = cmd.RegisterFlagCompletionFunc("thread", func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				return threadNames(cmd, args), cobra.ShellCompDirectiveNoFileComp
			})
		}
	}
}

// complete completes the first argument by first, and those after it by rest.
func complete(cmd *cobra.Command, first, rest names) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) (found []string, _ cobra.ShellCompDirective) {
		source := first
		if len(args) > 0 {
			source = rest
		}
		if source == nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		for _, name := range source(cmd, args) {
			if strings.HasPrefix(name, begun) {
				found = append(found, name)
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

func pluginNames(cmd *cobra.Command, _ []string) (found []string) {
	for _, plugin := range registered(cmd) {
		found = append(found, plugin.Name+"\t"+plugin.Manifest.Description)
	}
	return found
}

// capabilityNames are those that the plugin wants.
func capabilityNames(cmd *cobra.Command, args []string) (found []string) {
	for _, plugin := range registered(cmd) {
		if plugin.Name != args[0] {
			continue
		}
		for _, wish := range plugin.Manifest.Requests() {
			found = append(found, string(wish.Capability)+"\t"+wish.Reason)
		}
	}
	return found
}

// registered are the plugins of the daemon elsewhere, or of the database, that the command
// line names.
func registered(cmd *cobra.Command) (found []pluginsdk.PluginInfo) {
	ctx, cancel := context.WithTimeout(context.Background(), completionPatience)
	defer cancel()
	remote, err := elsewhere(cmd)
	if err != nil {
		return nil
	}
	if remote != nil {
		plugins, _ := remote.Plugins(ctx)
		for _, plugin := range plugins {
			found = append(found, plugin.Info())
		}
		return found
	}
	config, err := loadConfig(cmd)
	if err != nil {
		return nil
	}
	database, err := daemon.OpenExisting(ctx, config)
	if err != nil {
		return nil
	}
	defer database.Close()
	rows, err := database.Plugins(ctx)
	if err != nil {
		return nil
	}
	for _, row := range rows {
		found = append(found, row.PluginInfo)
	}
	return found
}

func toolNames(cmd *cobra.Command, _ []string) (found []string) {
	api, err := newClient(cmd)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionPatience)
	defer cancel()
	tools, err := api.Tools(ctx)
	if err != nil {
		return nil
	}
	for _, tool := range tools {
		found = append(found, tool.Name)
	}
	return found
}

// taskNames are the tasks that the command is for: of those that take a person's word, the
// ones that wait for it.
func taskNames(cmd *cobra.Command, _ []string) (found []string) {
	api, err := newClient(cmd)
	if err != nil {
		return nil
	}
	query := pluginsdk.TaskQuery{Newest: true}
	switch cmd.Name() {
	case "approve", "reject":
		query.Statuses = []pluginsdk.TaskStatus{pluginsdk.TaskWaiting}
	case "cancel":
		query.Statuses = openTasks
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionPatience)
	defer cancel()
	tasks, err := api.Tasks(ctx, query)
	if err != nil {
		return nil
	}
	for _, task := range tasks {
		found = append(found, task.ID+"\t"+string(task.Status)+": "+taskview.Title(task))
	}
	return found
}

// workflowNames are the workflows that the command is for: all, or those that it can change.
func workflowNames(cmd *cobra.Command, _ []string) (found []string) {
	api, err := newClient(cmd)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionPatience)
	defer cancel()
	all, _, err := api.Workflows(ctx)
	if err != nil {
		return nil
	}
	for _, one := range all {
		rests := one.State == client.WorkflowWaiting || one.State == client.WorkflowStopped
		switch cmd.Name() {
		case "continue":
			if !rests {
				continue
			}
		case "stop":
			if !one.State.Moves() {
				continue
			}
		case "abandon":
			if !rests && !one.State.Moves() {
				continue
			}
		}
		found = append(found, one.ID+"\t"+workflowview.State(one.State)+": "+workflowview.Title(one))
	}
	return found
}

// approvalNames are the approvals that the command is for: those that are open, where it
// answers.
func approvalNames(cmd *cobra.Command, _ []string) (found []string) {
	api, err := newClient(cmd)
	if err != nil {
		return nil
	}
	query := pluginsdk.ApprovalQuery{Newest: true, States: []pluginsdk.ApprovalState{pluginsdk.ApprovalOpen}}
	if cmd.Name() == "show" {
		query.States = nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionPatience)
	defer cancel()
	approvals, err := api.Approvals(ctx, query)
	if err != nil {
		return nil
	}
	for _, approval := range approvals {
		found = append(found, approval.ID+"\t"+string(approval.State)+": "+terminal.TitleOf(approval))
	}
	return found
}

// typed are the commands that can be typed in a thread.
func typed(cmd *cobra.Command) []pluginsdk.Command {
	api, err := newClient(cmd)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionPatience)
	defer cancel()
	commands, _ := api.Commands(ctx)
	return commands
}

func typedNames(cmd *cobra.Command, _ []string) (found []string) {
	for _, command := range typed(cmd) {
		if command.Name != "*" {
			found = append(found, "/"+command.Name+"\t"+terminal.OneLine(command.Description))
		}
	}
	return found
}

// typedChoices are what a command takes next: its named options, and the choices of the one
// whose turn it is of the others.
func typedChoices(cmd *cobra.Command, args []string) (found []string) {
	at := 0 // of the options without a name
	for _, word := range args[1:] {
		if !strings.Contains(word, "=") {
			at++
		}
	}
	for _, command := range typed(cmd) {
		if "/"+command.Name != args[0] {
			continue
		}
		for _, option := range command.Options {
			switch {
			case option.Named && option.Type == pluginsdk.OptionFlag:
				found = append(found, option.Name+"\t"+terminal.OneLine(option.Description))
			case option.Named && len(option.Choices) == 0:
				found = append(found, option.Name+"=\t"+terminal.OneLine(option.Description))
			case option.Named:
				for _, choice := range option.Choices {
					found = append(found, option.Name+"="+choice)
				}
			case at > 0:
				at--
			case at == 0:
				found = append(found, option.Choices...)
				at = -1
			}
		}
	}
	return found
}

func fileNames(cmd *cobra.Command, _ []string) (found []string) {
	api, err := newClient(cmd)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionPatience)
	defer cancel()
	files, err := api.Files(ctx, pluginsdk.FileQuery{}, 1000)
	if err != nil {
		return nil
	}
	for _, file := range files {
		found = append(found, file.ID+"\t"+terminal.OneLine(file.Name))
	}
	return found
}

func ruleNames(cmd *cobra.Command, _ []string) (found []string) {
	api, err := newClient(cmd)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionPatience)
	defer cancel()
	rules, err := api.Rules(ctx, "")
	if err != nil {
		return nil
	}
	for _, rule := range rules {
		found = append(found, rule.ID+"\t"+terminal.Short(rule.Text, 80))
	}
	return found
}

func contextPaths(cmd *cobra.Command, _ []string) (found []string) {
	api, err := newClient(cmd)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionPatience)
	defer cancel()
	files, err := api.ContextFiles(ctx)
	if err != nil {
		return nil
	}
	for _, file := range files {
		found = append(found, file.Path)
	}
	return found
}

func threadNames(cmd *cobra.Command, _ []string) (found []string) {
	api, err := newClient(cmd)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionPatience)
	defer cancel()
	threads, err := api.Threads(ctx)
	if err != nil {
		return nil
	}
	for _, thread := range threads {
		found = append(found, thread.ID+"\t"+terminal.OneLine(thread.Name))
	}
	return found
}
