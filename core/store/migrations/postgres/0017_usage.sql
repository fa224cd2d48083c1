-- Which plugin asked for a turn, so that it is known when the run is gone, and usage by the time of it.

ALTER TABLE "agent_runs" ADD COLUMN "plugin" character varying NOT NULL DEFAULT '';
UPDATE "agent_runs" SET "plugin" = "runs"."plugin" FROM "runs" WHERE "runs"."id" = "agent_runs"."run_id" AND "runs"."plugin" <> '';
CREATE INDEX "agentrun_started_at" ON "agent_runs" ("started_at");
