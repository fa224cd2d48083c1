-- Files: names for bytes that lie in the data directory, by their SHA-256.

CREATE TABLE "files" (
  "id" character varying NOT NULL,
  "sha256" character varying NOT NULL,
  "name" character varying NOT NULL,
  "type" character varying NOT NULL,
  "size" bigint NOT NULL,
  "thread_id" character varying NOT NULL DEFAULT '',
  "plugin" character varying NOT NULL DEFAULT '',
  "author" character varying NOT NULL DEFAULT '',
  "key" character varying NULL,
  "attached" boolean NOT NULL DEFAULT false,
  "created_at" timestamptz NOT NULL,
  PRIMARY KEY ("id")
);
CREATE INDEX "file_sha256" ON "files" ("sha256");
CREATE INDEX "file_thread_id_id" ON "files" ("thread_id", "id");
CREATE UNIQUE INDEX "file_key" ON "files" ("key");
CREATE INDEX "file_unattached" ON "files" ("id") WHERE NOT attached;
CREATE INDEX "message_attached" ON "messages" ("id") WHERE attachments IS NOT NULL;
