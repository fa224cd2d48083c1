-- What the agent asks people, what they allow from now on, and whether somebody is there to answer.

CREATE TABLE "approvals" (
  "id" character varying NOT NULL,
  "thread_id" character varying NOT NULL,
  "run_id" character varying NOT NULL,
  "attempt" bigint NOT NULL,
  "kind" character varying NOT NULL,
  "state" character varying NOT NULL,
  "tool" character varying NOT NULL,
  "input" text NOT NULL DEFAULT '',
  "digest" character varying NOT NULL,
  "title" text NOT NULL,
  "text" text NOT NULL DEFAULT '',
  "note" text NOT NULL DEFAULT '',
  "cwd" character varying NOT NULL DEFAULT '',
  "questions" json NULL,
  "choices" json NOT NULL,
  "offers" json NULL,
  "message_id" bigint NOT NULL DEFAULT 0,
  "choice" character varying NOT NULL DEFAULT '',
  "answers" json NULL,
  "words" text NOT NULL DEFAULT '',
  "author" character varying NOT NULL DEFAULT '',
  "plugin" character varying NOT NULL DEFAULT '',
  "rule_id" character varying NOT NULL DEFAULT '',
  "created_at" timestamptz NOT NULL,
  "expires_at" timestamptz NOT NULL,
  "decided_at" timestamptz NULL,
  "spent_at" timestamptz NULL,
  PRIMARY KEY ("id")
);
CREATE INDEX "approval_run_id" ON "approvals" ("run_id");
CREATE INDEX "approval_thread_id_id" ON "approvals" ("thread_id", "id");
CREATE INDEX "approval_message_id" ON "approvals" ("message_id");
CREATE INDEX "approval_open" ON "approvals" ("expires_at") WHERE state = 'open';

CREATE TABLE "approval_rules" (
  "id" character varying NOT NULL,
  "thread_id" character varying NOT NULL,
  "tool" character varying NOT NULL,
  "kind" character varying NOT NULL,
  "value" text NOT NULL DEFAULT '',
  "text" text NOT NULL,
  "author" character varying NOT NULL DEFAULT '',
  "plugin" character varying NOT NULL DEFAULT '',
  "approval_id" character varying NOT NULL DEFAULT '',
  "created_at" timestamptz NOT NULL,
  PRIMARY KEY ("id")
);
CREATE INDEX "approvalrule_thread_id_id" ON "approval_rules" ("thread_id", "id");

ALTER TABLE "runs" ADD COLUMN "unattended" boolean NOT NULL DEFAULT false;
