package workflow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/typed"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// request is what a person types, or a tool is called with.
type request struct {
	call   pluginsdk.Call
	thread pluginsdk.Thread // where it was given; without an id: nowhere
	author string
	agent  bool // it was given by an agent
	admin  bool // who gives it may name any directory
	fields map[string]string
	text   string
}

// answer is what comes of a request: words for people, and the same for a program.
type answer struct {
	words string
	data  any
}

// verb is one thing that can be asked for.
type verb struct {
	fields []string
	named  bool // it is about a workflow, whose id comes first
	people bool // only a person may ask for it
	do     func(*Plugin, context.Context, request) (answer, error)
}

const (
	verbStart    = "start"
	verbStatus   = "status"
	verbContinue = "continue"
	verbResume   = "resume" // another word for continue
	verbStop     = "stop"
	verbAbandon  = "abandon"
)

var verbs = map[string]verb{
	verbStart:    {fields: []string{"dir", "stages", "batch", "cost", "git"}, do: (*Plugin).start},
	verbStatus:   {fields: []string{"workflow"}, named: true, do: (*Plugin).status},
	verbContinue: {fields: []string{"workflow", "rounds", "redesigns", "tries", "cost", "accept"}, named: true, people: true, do: (*Plugin).goOn},
	verbResume:   {fields: []string{"workflow", "rounds", "redesigns", "tries", "cost", "accept"}, named: true, people: true, do: (*Plugin).goOn},
	verbStop:     {fields: []string{"workflow"}, named: true, do: (*Plugin).halt},
	verbAbandon:  {fields: []string{"workflow"}, named: true, people: true, do: (*Plugin).abandon},
}

const usage = "start [dir=DIR] [stages=a,b,c] [batch=3] [cost=USD] [git=yes|no] WHAT TO BUILD | status [ID] | continue ID [rounds=N] [redesigns=N] [tries=N] [cost=USD] [accept=yes] [WORDS] | stop ID | abandon ID"

func commands() []pluginsdk.CommandSpec {
	named := func(name, description string, kind pluginsdk.OptionType, choices ...string) pluginsdk.CommandOption {
		return pluginsdk.CommandOption{Name: name, Description: description, Type: kind, Choices: choices, Named: true}
	}
	return []pluginsdk.CommandSpec{{
		Name: name, Scope: pluginsdk.ScopeApprove, Beside: true, Description: "build software in stages: plan, build, review, merge", Usage: usage,
		Options: []pluginsdk.CommandOption{
			{Name: "do", Description: "what to do", Type: pluginsdk.OptionChoice, Choices: []string{verbStart, verbStatus, verbContinue, verbStop, verbAbandon}, Required: true},
			named("dir", "the directory of the project", pluginsdk.OptionText),
			named("stages", "the stages, by their agents' names", pluginsdk.OptionText),
			named("batch", "how many tasks of the plan are built together", pluginsdk.OptionNumber),
			named("cost", "what the workflow may cost, in USD", pluginsdk.OptionNumber),
			named("git", "make the directory a git repository", pluginsdk.OptionChoice, "yes", "no"),
			named("rounds", "so many more reviews of a batch may ask for changes", pluginsdk.OptionNumber),
			named("redesigns", "so many more returns to the architect", pluginsdk.OptionNumber),
			named("tries", "so many more times may the checks of a stage fail", pluginsdk.OptionNumber),
			named("accept", "take the work that waits as it is", pluginsdk.OptionChoice, "yes"),
			{Name: "text", Description: "what to build, or the workflow's id and words to its worker", Type: pluginsdk.OptionText},
		},
	}}
}

// OnCommand carries out what a person types. An agent uses the tools.
func (p *Plugin) OnCommand(ctx context.Context, command *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	scope := command.Message.Scope
	r := request{
		call: command.Call, thread: command.Thread, author: command.Message.Author, agent: command.Origin == pluginsdk.FromAgent,
		fields: maps.Clone(command.Attributes), text: strings.TrimSpace(command.Body),
	}
	if r.fields == nil {
		r.fields = make(map[string]string)
	}
	r.admin = !r.agent && (scope == "" || scope.Has(pluginsdk.ScopeAdmin))
	word := r.fields["do"]
	delete(r.fields, "do")
	// Options stand before the word (the flags of the command line do) or behind it.
	leading, rest := typed.LeadingFields(r.text)
	maps.Copy(r.fields, leading)
	if word == "" {
		word, rest = typed.FirstWord(rest)
	}
	leading, r.text = typed.LeadingFields(rest)
	maps.Copy(r.fields, leading)
	word = cmp.Or(word, verbStatus)
	known, ok := verbs[word]
	if !ok {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q is nothing that a workflow can be asked for. Usage: /workflow %s", word, usage)
	}
	if known.named && r.fields["workflow"] == "" && r.text != "" {
		r.fields["workflow"], r.text = typed.FirstWord(r.text)
		leading, r.text = typed.LeadingFields(r.text)
		maps.Copy(r.fields, leading)
	}
	if word == verbStart && !r.agent && scope != "" && !scope.Has(pluginsdk.ScopeWork) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "starting a workflow needs the right %s, and you have %s; ask the owner of this installation", pluginsdk.ScopeWork, scope)
	}
	if r.agent && known.people {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "%s is for a person to say: tell them to type /workflow %s ID", word, word)
	}
	done, err := p.do(ctx, word, known, r)
	if err != nil {
		return nil, err
	}
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: done.words}, nil
}

func (p *Plugin) do(ctx context.Context, word string, known verb, r request) (answer, error) {
	for _, field := range slices.Sorted(maps.Keys(r.fields)) {
		if !slices.Contains(known.fields, field) {
			return answer{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %s has no option of this name; it has %s (-- before a text that begins like one)", field, word, strings.Join(known.fields, ", "))
		}
	}
	return known.do(p, ctx, r)
}

// toolPrefix begins the names of the tools.
const toolPrefix = name + "_"

// CallTool carries out what an agent calls as a tool, or another plugin for its users.
func (p *Plugin) CallTool(ctx context.Context, call *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	done, err := p.called(ctx, call)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeUnavailable && call.ThreadID == "" {
		return nil, err
	}
	if err != nil {
		return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: err.Error(), IsError: true}}, nil
	}
	said, err := json.Marshal(done.data)
	if err != nil {
		return nil, err
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: string(said), Structured: said}}, nil
}

func (p *Plugin) called(ctx context.Context, call *pluginsdk.CallToolRequest) (answer, error) {
	var input map[string]any
	if err := json.Unmarshal(call.Input, &input); err != nil {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "input: %w", err)
	}
	r := request{call: call.Call, agent: call.ThreadID != "", fields: make(map[string]string)}
	for field, value := range input {
		switch value := value.(type) {
		case []any:
			var parts []string
			for _, part := range value {
				parts = append(parts, fmt.Sprint(part))
			}
			r.fields[field] = strings.Join(parts, ",")
		default:
			r.fields[field] = fmt.Sprint(value)
		}
	}
	r.text = strings.TrimSpace(r.fields["request"])
	delete(r.fields, "request")
	word := strings.TrimPrefix(call.Name, toolPrefix)
	known, ok := verbs[word]
	if !ok {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no tool %q", call.Name)
	}
	if known.people {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeDenied, "%s is for a person to say: ask them to type /workflow %s %s", word, word, cmp.Or(r.fields["workflow"], "ID"))
	}
	if call.ThreadID != "" {
		answered, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: call.ThreadID})
		if err != nil {
			return answer{}, err
		}
		r.thread = answered.Thread
	}
	if word == verbStart {
		if r.thread.ID == "" {
			return answer{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "a workflow is started in a thread: type /workflow start")
		}
	}
	return p.do(ctx, word, known, r)
}

func tools() []pluginsdk.ToolSpec {
	spec := func(word, description, required string, properties ...string) pluginsdk.ToolSpec {
		return pluginsdk.ToolSpec{Name: toolPrefix + word, Description: description, InputSchema: json.RawMessage(
			`{"type": "object", "additionalProperties": false, "required": [` + required + `], "properties": {` + strings.Join(properties, ", ") + `}}`)}
	}
	const workflow = `"workflow": {"type": "string", "minLength": 6, "description": "The workflow's id; its last 6 characters or more are enough"}`
	return []pluginsdk.ToolSpec{
		spec(verbStart, "Build software in stages in a project's directory: plan, batches that are built and reviewed, a last review, a merge. For work of several steps; small changes you make yourself or delegate. Its id is returned at once; this thread is told when it is over or needs a person.", `"request"`,
			`"request": {"type": "string", "minLength": 1, "description": "What to build, with all that is known of it: the stages have not read this conversation"}`,
			`"dir": {"type": "string", "description": "The project's directory: this thread's or one below it, or one that the operator allows"}`,
			`"stages": {"type": "array", "items": {"type": "string"}, "maxItems": 20, "description": "The agents in their order, such as architect, builder, reviewer, with a reviewer after each that builds; without them they are chosen for the request"}`,
			`"batch": {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many tasks of the plan are built together"}`,
			`"cost": {"type": "number", "exclusiveMinimum": 0, "description": "US dollars that it may cost"}`,
			`"git": {"enum": ["yes", "no"], "description": "no builds in a directory without git as it is; yes is for a person to say, and the answer says what they have to type"}`),
		spec(verbStatus, "How far a workflow is: stages, batches, verdicts, cost; without an id, the newest workflows.", ``, workflow),
		spec(verbContinue, "Only a person continues a workflow that waits: this says what they have to type.", `"workflow"`, workflow),
		spec(verbStop, "Stop a workflow. A person can continue it later, where it was.", `"workflow"`, workflow),
	}
}

// goOn has a workflow go on that waits for a person, with limits raised, or with the work that waits
// taken as it is.
func (p *Plugin) goOn(ctx context.Context, r request) (answer, error) {
	root, err := p.find(ctx, r)
	if err != nil {
		return answer{}, err
	}
	if root.Status != pluginsdk.TaskWaiting {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeStale, "the workflow %s is %s: only one that waits can be continued", short(root.ID), root.Status)
	}
	more := make(map[string]int)
	for _, option := range []string{"rounds", "redesigns", "tries"} {
		if more[option], err = numberOf(r, option, 1, 100); err != nil {
			return answer{}, err
		}
	}
	cost := 0.0
	if asked := r.fields["cost"]; asked != "" {
		if cost, err = costOf(r, p.config.Load()); err != nil {
			return answer{}, err
		}
	}
	accept := r.fields["accept"] == "yes"
	if asked := r.fields["accept"]; asked != "" && !accept {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "accept: %q is not yes; leave it out when the work is not to be taken as it is", asked)
	}
	f := p.flow(root.ID)
	f.deciding.Lock()
	defer f.deciding.Unlock()
	var taken taking
	_, err = f.change(ctx, func(rec *record) error {
		taken = taking{}
		rec.Limits.Rounds += more["rounds"]
		rec.Limits.Redesigns += more["redesigns"]
		rec.Limits.Tries += more["tries"]
		stopped := rec.StoppedBy != ""
		rec.StoppedBy, rec.StopNext = "", false
		rec.unwaive() // what was said before, and did not reach the tasks, does not count
		if accept {
			if err := rec.take(r.author, stopped, &taken); err != nil {
				return err
			}
		}
		return costFault(root, cost, taken.whole)
	})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		err = costFault(root, cost, false)
	}
	if err != nil {
		return answer{}, err
	}
	if err := p.handOver(ctx, taken.task, r); err != nil {
		return answer{}, err
	}
	verdict := pluginsdk.Verdict("")
	if taken.whole {
		verdict = pluginsdk.VerdictAccept
	}
	if err := p.decideBelow(ctx, root.ID, accept, cost, r); err != nil {
		return answer{}, err
	}
	if _, err := p.host.Tasks.Decide(ctx, &pluginsdk.DecideTaskRequest{
		ID: root.ID, Iteration: root.CurrentIteration, Verdict: verdict, Feedback: r.text, Author: r.author, CostCapUSD: cost,
	}); err != nil {
		return answer{}, err
	}
	p.begin(root.ID)
	p.moved.raise()
	return answer{words: fmt.Sprintf("Workflow %s goes on.%s", short(root.ID), taken.said), data: map[string]any{"id": root.ID}}, nil
}

// decideBelow gives the person's word to the tasks of stages that wait for one themselves. A cost above 0
// is the limit that they have then.
func (p *Plugin) decideBelow(ctx context.Context, id string, accept bool, cost float64, r request) error {
	page, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{Plugin: name, ParentTaskID: id, Statuses: []pluginsdk.TaskStatus{pluginsdk.TaskWaiting}}})
	if err != nil {
		return err
	}
	for _, task := range page.Tasks {
		said := pluginsdk.DecideTaskRequest{ID: task.ID, Iteration: task.CurrentIteration, Feedback: r.text, Author: r.author, CostCapUSD: cost}
		if accept {
			said.Verdict, said.CostCapUSD = pluginsdk.VerdictAccept, 0
		}
		if _, err := p.host.Tasks.Decide(ctx, &said); err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
			return err
		}
	}
	return nil
}

// halt stops a workflow where it is. What its agents have done so far is kept.
func (p *Plugin) halt(ctx context.Context, r request) (answer, error) {
	root, err := p.find(ctx, r)
	if err != nil {
		return answer{}, err
	}
	if root.Status.Final() {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeStale, "the workflow %s is %s already", short(root.ID), root.Status)
	}
	if root.Status == pluginsdk.TaskWaiting {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeStale, "the workflow %s waits already: %s", short(root.ID), root.Error)
	}
	by := cmp.Or(r.author, "the agent")
	if !r.agent {
		by = cmp.Or(r.author, "a person")
	}
	f := p.flow(root.ID)
	stop := func(rec *record) error {
		rec.StoppedBy, rec.StopNext = by, rec.Waited > 0 && root.Status == pluginsdk.TaskRunning
		return nil
	}
	rec, err := f.change(ctx, stop)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound { // it has not begun
		if rec, err = f.first(ctx, root); err == nil {
			err = f.create(ctx, rec)
		}
		if err == nil {
			rec, err = f.change(ctx, stop)
		}
	}
	if err != nil {
		return answer{}, err
	}
	for _, s := range rec.Stages {
		if s.TaskID == "" || s.Status == stages.Completed {
			continue
		}
		if err := p.interrupt(ctx, s.TaskID, r.author); err != nil {
			return answer{}, err
		}
	}
	for _, run := range f.turnsAtWork() {
		if _, err := p.host.Agent.Cancel(ctx, &pluginsdk.CancelTurnRequest{RunID: run}); err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			return answer{}, err
		}
	}
	return answer{words: fmt.Sprintf("Workflow %s is stopped. /workflow continue %s goes on where it was.", short(root.ID), short(root.ID)), data: map[string]any{"id": root.ID}}, nil
}

// interrupt ends the turn that a stage's worker is at. Its task, its directory and its session stay.
func (p *Plugin) interrupt(ctx context.Context, id, author string) error {
	task, err := p.task(ctx, id)
	if err == nil && task.RunID != "" {
		_, err = p.host.Runs.Cancel(ctx, &pluginsdk.CancelRunRequest{ID: task.RunID, Author: author})
	}
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return nil
	}
	return err
}

// abandon ends a workflow for good. Its branch stays.
func (p *Plugin) abandon(ctx context.Context, r request) (answer, error) {
	root, err := p.find(ctx, r)
	if err != nil {
		return answer{}, err
	}
	if root.Status.Final() {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeStale, "the workflow %s is %s already", short(root.ID), root.Status)
	}
	if _, err := p.host.Tasks.Cancel(ctx, &pluginsdk.CancelTaskRequest{ID: root.ID, Reason: cmp.Or(r.text, "abandoned"), Author: r.author}); err != nil {
		return answer{}, err
	}
	branch := ""
	if name := root.Labels["worktree.branch"]; name != "" {
		branch = " What was accepted so far stays on the branch " + name + "."
	}
	return answer{words: "Workflow " + short(root.ID) + " is abandoned." + branch, data: map[string]any{"id": root.ID}}, nil
}

// leastOfID is how many characters of an id are enough.
const leastOfID = 6

// find returns the root task of the workflow that a request names.
func (p *Plugin) find(ctx context.Context, r request) (pluginsdk.Task, error) {
	id := strings.Trim(r.fields["workflow"], " .,`")
	if len(id) < leastOfID {
		return pluginsdk.Task{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q is no workflow's id, nor %d characters of one; /workflow status lists them", id, leastOfID)
	}
	var found []pluginsdk.Task
	after := ""
	for range 20 {
		page, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{Plugin: name, Newest: true, After: after, Limit: 500}})
		if err != nil {
			return pluginsdk.Task{}, err
		}
		if len(page.Tasks) == 0 {
			break
		}
		for _, task := range page.Tasks {
			after = task.ID
			if task.Labels[labelRoot] != "" && (strings.HasPrefix(task.ID, id) || strings.HasSuffix(task.ID, id)) && p.mayKnow(r, task) {
				found = append(found, task)
			}
		}
	}
	switch len(found) {
	case 0:
		return pluginsdk.Task{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no workflow %q; /workflow status lists them", id)
	case 1:
		return found[0], nil
	}
	return pluginsdk.Task{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q is part of the ids of %s workflows; say more of it", id, strconv.Itoa(len(found)))
}

// mayKnow reports whether who asks may know of a workflow: people and the primary thread know of all,
// the agents of other threads of those that these have started.
func (*Plugin) mayKnow(r request, root pluginsdk.Task) bool {
	return !r.agent || r.thread.Kind == pluginsdk.ThreadPrimary || root.ParentThreadID == r.thread.ID || root.ThreadID == r.thread.ID
}
