package invoker

import (
	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Figures returns how many processes of the CLI there are now.
func (c *Claude) Figures() []pluginsdk.Figure {
	states := map[string]float64{"working": 0, "idle": 0}
	c.pool.mu.Lock()
	for _, place := range c.pool.places {
		switch {
		case !place.session.alive():
		case place.taken:
			states["working"]++
		default:
			states["idle"]++
		}
	}
	c.pool.mu.Unlock()
	return []pluginsdk.Figure{
		tally.Gauges("harness_agent_processes", "Processes of the agent's CLI: at work on a turn, or kept warm for the next one.", "state", states),
	}
}

// Figures returns nothing: the demo agent has no processes.
func (*Demo) Figures() []pluginsdk.Figure { return nil }
