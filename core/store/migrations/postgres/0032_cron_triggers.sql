-- What a scheduled job fires on beside time, and how long what became of its fires is kept.

ALTER TABLE "cron_jobs" ADD COLUMN "trigger" character varying NOT NULL DEFAULT '';
ALTER TABLE "cron_jobs" ADD COLUMN "keep" character varying NOT NULL DEFAULT '';
