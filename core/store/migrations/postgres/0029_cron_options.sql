-- What the runs of scheduled jobs may do and cost, and what of them people are shown; what a fire was asked
-- for with.

ALTER TABLE "cron_jobs" ADD COLUMN "report" character varying NOT NULL DEFAULT '';
ALTER TABLE "cron_jobs" ADD COLUMN "session" character varying NOT NULL DEFAULT '';
ALTER TABLE "cron_jobs" ADD COLUMN "cost_cap_usd" double precision NOT NULL DEFAULT 0;
ALTER TABLE "cron_jobs" ADD COLUMN "timeout" character varying NOT NULL DEFAULT '';
ALTER TABLE "cron_jobs" ADD COLUMN "if_room" boolean NOT NULL DEFAULT false;
ALTER TABLE "cron_jobs" ADD COLUMN "when_command" text NOT NULL DEFAULT '';
ALTER TABLE "cron_jobs" ADD COLUMN "model" character varying NOT NULL DEFAULT '';
ALTER TABLE "cron_jobs" ADD COLUMN "permission_mode" character varying NOT NULL DEFAULT '';
ALTER TABLE "cron_jobs" ADD COLUMN "tools" text NOT NULL DEFAULT '';
ALTER TABLE "cron_fires" ADD COLUMN "data" text NOT NULL DEFAULT '';
