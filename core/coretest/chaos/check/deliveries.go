package check

import "fmt"

// deliveries compares what was to be carried with what was.
func (j *judge) deliveries() (lost, doubled, disordered []string) {
	rows := map[int64][]Delivery{}
	known := map[string]bool{}
	for _, delivery := range j.Deliveries {
		rows[delivery.MessageID] = append(rows[delivery.MessageID], delivery)
		known[delivery.ID] = true
	}
	carried := map[string]bool{}
	for _, c := range j.Carried {
		carried[c.DeliveryID] = true
	}
	for _, reply := range j.replies {
		if j.threads[reply.ThreadID].Delivered && len(rows[reply.ID]) == 0 {
			lost = append(lost, fmt.Sprintf("message %d (thread %s): a reply without a delivery", reply.ID, j.thread(reply.ThreadID)))
		}
	}
	for _, delivery := range j.Deliveries {
		what := fmt.Sprintf("delivery %s of message %d to %s", delivery.ID, delivery.MessageID, delivery.Target)
		switch {
		case delivery.State != "delivered":
			lost = append(lost, fmt.Sprintf("%s is %s: %s", what, delivery.State, delivery.Error))
		case j.Discord != nil && delivery.Plugin == j.Discord.Plugin: // it stands there, or is missing
		case !carried[delivery.ID]:
			lost = append(lost, what+" is called delivered, and the plugin never had it")
		}
	}
	for message, list := range ordered(rows) {
		if len(list) > 1 {
			doubled = append(doubled, fmt.Sprintf("message %d has %d deliveries", message, len(list)))
		}
	}
	return lost, append(doubled, j.strangers(known)...), j.disordered()
}

// strangers finds what was carried under an id that does not exist, or under
// two.
func (j *judge) strangers(known map[string]bool) (violations []string) {
	ids := map[int64]string{}
	for _, c := range j.Carried {
		first, again := ids[c.MessageID]
		switch {
		case !known[c.DeliveryID]:
			violations = append(violations, fmt.Sprintf("message %d was carried to %s under the id %q, which is not stored", c.MessageID, c.Target, c.DeliveryID))
		case again && first != c.DeliveryID:
			violations = append(violations, fmt.Sprintf("message %d was carried to %s under the ids %s and %s", c.MessageID, c.Target, first, c.DeliveryID))
		case !again:
			ids[c.MessageID] = c.DeliveryID
		}
	}
	return violations
}

// disordered finds what was first carried after something newer for the same
// target.
func (j *judge) disordered() (violations []string) {
	newest := map[string]int64{}
	seen := map[int64]bool{}
	for _, c := range j.Carried {
		if seen[c.MessageID] {
			continue
		}
		seen[c.MessageID] = true
		if c.MessageID < newest[c.Target] {
			violations = append(violations, fmt.Sprintf("message %d was carried to %s after message %d", c.MessageID, c.Target, newest[c.Target]))
			continue
		}
		newest[c.Target] = c.MessageID
	}
	return violations
}
