-- Hooks that read content, change it, or decide need a capability. Plugins that are enabled go on as they were: what their
-- hooks need is granted, noted in the audit log, and shown by `harness doctor` until a person confirms it (unconfirmed).
-- Plugins that come with Harness are granted theirs by their release. A row that was broken by hand is left alone.

ALTER TABLE "plugins" ADD COLUMN "unconfirmed" json NULL;
WITH "needs" ("hook", "capability") AS (VALUES ('OnBeforeRun', 'turns.decide'), ('OnPipelineStart', 'turns.read'), ('OnMessage', 'turns.read'), ('OnBeforeInvoke', 'turns.change'),
  ('OnAfterInvoke', 'turns.read'), ('OnBeforeReply', 'turns.change'), ('OnPipelineComplete', 'turns.read'), ('OnTaskCreate', 'tasks.prepare'),
  ('OnTaskComplete', 'tasks.judge'), ('OnTaskValidated', 'tasks.judge'), ('OnTaskFailed', 'tasks.read'))
UPDATE "plugins" SET "unconfirmed" = (
    SELECT json_agg(DISTINCT n."capability") FROM json_array_elements("plugins"."manifest" -> 'hooks') h ("value") JOIN "needs" n ON n."hook" = h."value" #>> '{}'
    WHERE n."capability" NOT IN (
      SELECT g."value" #>> '{}' FROM json_array_elements(CASE WHEN json_typeof("plugins"."granted") = 'array' THEN "plugins"."granted" ELSE '[]' END) g ("value")
      WHERE g."value" #>> '{}' IS NOT NULL))
  WHERE "enabled" AND "name" NOT IN ('activity', 'context', 'time', 'web', 'delegation', 'worktree', 'validation', 'discord')
  AND json_typeof("manifest") = 'object' AND json_typeof("manifest" -> 'hooks') = 'array'
  AND COALESCE(json_typeof("granted"), 'null') IN ('array', 'null');
UPDATE "plugins" SET "granted" = (
    SELECT json_agg(c."value") FROM (
      SELECT "value" FROM json_array_elements(CASE WHEN json_typeof("plugins"."granted") = 'array' THEN "plugins"."granted" ELSE '[]' END) WHERE "value" #>> '{}' IS NOT NULL
      UNION ALL SELECT "value" FROM json_array_elements("plugins"."unconfirmed")) c)
  WHERE "unconfirmed" IS NOT NULL;
INSERT INTO "audit_entries" ("id", "who", "action", "target", "detail", "created_at")
  SELECT substr(at, 1, 8) || '-' || substr(at, 9, 4) || '-7' || substr(dice, 1, 3) || '-8' || substr(dice, 4, 3) || '-' || substr(dice, 7, 12),
    'upgrade', 'plugin.grant', "name",
    'by upgrade: its hooks need ' || (SELECT string_agg(c, ', ') FROM json_array_elements_text("unconfirmed") c), now()
  FROM (SELECT "name", "unconfirmed", lpad(to_hex(CAST(floor(extract(epoch FROM now()) * 1000) AS bigint)), 12, '0') AS at, md5(random()::text || "name") AS dice
    FROM "plugins" WHERE "unconfirmed" IS NOT NULL) p;
