package invoker

import (
	"encoding/json"
	"strings"
)

// Plans of the agent. It writes its plan into a file that plan mode names to it (in plans/ of
// the CLI's configuration directory) and calls planTool. Verified with 2.1.197 and 2.1.330: when
// there is such a file, the CLI itself puts its text and its path into the input with which it
// asks (plan, planFilePath). Without one, 2.1.197 asks with the plan that the model has put into the call,
// and 2.1.330 with an empty input. Both take the plan of the answer, write it to the file, and
// tell the agent so.

// planTool is the tool with which the agent leaves plan mode.
const planTool = "ExitPlanMode"

// noPlan is what the agent is told when it has no plan to be looked at.
const noPlan = "There is no plan that a person could look at. Write it into the file that plan mode has named to you, then call " + planTool + " again."

// withPlan fills in the plan that the model has put into its call when the CLI asks without.
func (t *turn) withPlan(request controlRequest) controlRequest {
	called := t.plans[request.Request.ToolUseID]
	if request.Request.ToolName != planTool || hasPlan(request.Request.Input) || !hasPlan(called) {
		return request
	}
	var input, of map[string]json.RawMessage
	if json.Unmarshal(called, &of) != nil {
		return request
	}
	if json.Unmarshal(request.Request.Input, &input) != nil || input == nil {
		input = map[string]json.RawMessage{}
	}
	input["plan"] = of["plan"]
	if filled, err := json.Marshal(input); err == nil {
		request.Request.Input = filled
	}
	return request
}

// hasPlan reports whether the input of planTool has a plan.
func hasPlan(input json.RawMessage) bool {
	var has struct {
		Plan string `json:"plan"`
	}
	return json.Unmarshal(input, &has) == nil && strings.TrimSpace(has.Plan) != ""
}
