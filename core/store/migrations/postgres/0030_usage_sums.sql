-- The scheduled job whose prompt a turn answers, and the sums of turns by which usage is read. The sums are made of
-- agent_runs, in the background, after this.

ALTER TABLE "agent_runs" ADD COLUMN "cron" character varying NOT NULL DEFAULT '';
UPDATE "agent_runs" SET "cron" = "cron_fires"."job" FROM "cron_fires" WHERE "cron_fires"."run_id" = "agent_runs"."run_id" AND "cron_fires"."run_id" <> '';

CREATE TABLE "usage_marks" ("id" bigint NOT NULL, "epoch" bigint NOT NULL DEFAULT 0, "agent_run_id" bigint NOT NULL DEFAULT 0, PRIMARY KEY ("id"));
INSERT INTO "usage_marks" ("id") VALUES (1);
CREATE TABLE "usage_sums" (
  "facet" text COLLATE "C" NOT NULL,
  "span" text COLLATE "C" NOT NULL,
  "start" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "turns" bigint NOT NULL,
  "failed" bigint NOT NULL,
  "unsure" bigint NOT NULL,
  "duration_ns" bigint NOT NULL,
  "input_tokens" bigint NOT NULL,
  "output_tokens" bigint NOT NULL,
  "cache_read_tokens" bigint NOT NULL,
  "cache_write_tokens" bigint NOT NULL,
  "cost_usd" double precision NOT NULL,
  "notional_usd" double precision NOT NULL,
  PRIMARY KEY ("facet", "span", "start", "name")
);
CREATE INDEX "usage_sums_of_name" ON "usage_sums" ("facet", "name", "span", "start") WHERE "facet" IN ('thread', 'task');
