-- Who may call from outside: tokens, the sessions made of them, and login tokens.

CREATE TABLE "tokens" (
  "id" character varying NOT NULL,
  "name" character varying NOT NULL,
  "kind" character varying NOT NULL,
  "scope" character varying NOT NULL,
  "parent_id" character varying NOT NULL DEFAULT '',
  "hash" character varying NOT NULL,
  "created_by" character varying NOT NULL DEFAULT '',
  "created_at" timestamptz NOT NULL,
  "expires_at" timestamptz NULL,
  "last_used_at" timestamptz NULL,
  "revoked_at" timestamptz NULL,
  PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "token_hash" ON "tokens" ("hash");
CREATE INDEX "token_parent_id" ON "tokens" ("parent_id");
CREATE INDEX "token_revoked_at" ON "tokens" ("revoked_at");
