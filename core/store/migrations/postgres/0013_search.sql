-- The index by which messages are found, and how far it has come. It is made of the messages, in the background, after this.

CREATE TABLE "message_index" ("message_id" bigint NOT NULL, "words" tsvector NOT NULL, PRIMARY KEY ("message_id"));
CREATE INDEX "message_index_words" ON "message_index" USING gin ("words");
CREATE TABLE "message_index_marks" ("id" bigint NOT NULL, "rules" bigint NOT NULL DEFAULT 0, "epoch" bigint NOT NULL DEFAULT 0, "message_id" bigint NOT NULL DEFAULT 0, PRIMARY KEY ("id"));
INSERT INTO "message_index_marks" ("id") VALUES (1);
-- Between which times the messages of 4096 ids in a row were made, in microseconds since 1970.
CREATE TABLE "message_spans" ("block" bigint NOT NULL, "low" bigint NOT NULL, "high" bigint NOT NULL, PRIMARY KEY ("block"));
CREATE OR REPLACE FUNCTION "message_unindexed"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM message_index WHERE message_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER "message_unindexed" AFTER DELETE ON "messages" FOR EACH ROW
  WHEN (OLD.kind IN ('text', 'notification', 'summary')) EXECUTE FUNCTION "message_unindexed"();
