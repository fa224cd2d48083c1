-- Tasks with a directory of their own, what they go on from, and what they were before OnTaskCreate changed it.

ALTER TABLE "tasks" ADD COLUMN "own_directory" boolean NOT NULL DEFAULT false;
ALTER TABLE "tasks" ADD COLUMN "from_task_id" character varying NOT NULL DEFAULT '';
ALTER TABLE "tasks" ADD COLUMN "first_cwd" character varying NOT NULL DEFAULT '';
ALTER TABLE "tasks" ADD COLUMN "asked_allowed_tools" json NULL;
-- What is to go on in an older task's thread begins in that one's directory.
UPDATE "tasks" SET "asked_allowed_tools" = "allowed_tools",
  "first_cwd" = CASE WHEN "phase" = 'creating' AND "asked_cwd" = '' THEN "cwd" ELSE "asked_cwd" END;
-- So far a thread's permission mode has held for its task, whatever it was when that was made.
UPDATE "tasks" SET "permission_mode" = COALESCE((SELECT "threads"."permission_mode" FROM "threads" WHERE "threads"."id" = "tasks"."thread_id"), "permission_mode")
  WHERE "status" NOT IN ('completed', 'failed', 'cancelled');
