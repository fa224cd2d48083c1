-- Tasks that have ended since a time are looked up again and again.
CREATE INDEX "task_completed_at_id" ON "tasks" ("completed_at", "id");
