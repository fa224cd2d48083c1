package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
)

// ThreadRemoval is the table thread_removals: the ids of threads that do not exist, and
// whose rows are still to be removed. A thread that was deleted is there from the moment
// in which its own row goes until nothing is left of it; one that is being branched is
// there until it is complete.
type ThreadRemoval struct {
	ent.Schema
}

// Fields of a removal.
func (ThreadRemoval) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		field.Time("created_at").Immutable(),
	}
}
