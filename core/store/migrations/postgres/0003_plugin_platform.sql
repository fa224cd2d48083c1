-- What operators install, grant, limit and roll back, what the supervisor counts, and the sealed secrets of plugins.

ALTER TABLE "plugins" ADD COLUMN "origin" character varying NOT NULL DEFAULT '';
ALTER TABLE "plugins" ADD COLUMN "publisher" character varying NOT NULL DEFAULT '';
ALTER TABLE "plugins" ADD COLUMN "previous" json NULL;
ALTER TABLE "plugins" ADD COLUMN "granted_env" json NULL;
ALTER TABLE "plugins" ADD COLUMN "limits" json NULL;
ALTER TABLE "plugins" ADD COLUMN "quarantine" text NOT NULL DEFAULT '';
ALTER TABLE "plugins" ADD COLUMN "ledger" json NULL;
ALTER TABLE "plugins" ADD COLUMN "attach" text NOT NULL DEFAULT '';
ALTER TABLE "plugins" ADD COLUMN "settings_revision" bigint NOT NULL DEFAULT 0;

CREATE TABLE "plugin_secrets" (
  "id" character varying NOT NULL,
  "plugin" character varying NOT NULL,
  "name" character varying NOT NULL,
  "value" bytea NOT NULL,
  "updated_at" timestamptz NOT NULL,
  PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "pluginsecret_plugin_name" ON "plugin_secrets" ("plugin", "name");
