-- Iterations of tasks that have no run: the task's plugin does the work itself.
ALTER TABLE "tasks" ADD COLUMN "own_iterations" json NULL;
