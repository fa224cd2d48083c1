-- Turns of the agent that plugins ask for, beside the threads' queues; and what operators turn on and off for all.

ALTER TABLE "runs" ADD COLUMN "beside" boolean NOT NULL DEFAULT false;
ALTER TABLE "runs" ADD COLUMN "plugin" character varying NOT NULL DEFAULT '';
ALTER TABLE "runs" ADD COLUMN "purpose" character varying NOT NULL DEFAULT '';
ALTER TABLE "runs" ADD COLUMN "task_id" character varying NOT NULL DEFAULT '';
ALTER TABLE "runs" ADD COLUMN "request" json NULL;
CREATE INDEX "run_task_id" ON "runs" ("task_id") WHERE task_id <> '';

CREATE TABLE "levers" (
  "id" character varying NOT NULL,
  "on" boolean NOT NULL DEFAULT false,
  "who" character varying NOT NULL DEFAULT '',
  "updated_at" timestamptz NOT NULL,
  PRIMARY KEY ("id")
);
