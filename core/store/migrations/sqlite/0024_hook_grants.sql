-- Hooks that read content, change it, or decide need a capability. Plugins that are enabled go on as they were: what their
-- hooks need is granted, noted in the audit log, and shown by `harness doctor` until a person confirms it (unconfirmed).
-- Plugins that come with Harness are granted theirs by their release. A row that was broken by hand is left alone.

ALTER TABLE `plugins` ADD COLUMN `unconfirmed` json NULL;
WITH `needs` (`hook`, `capability`) AS (VALUES ('OnBeforeRun', 'turns.decide'), ('OnPipelineStart', 'turns.read'), ('OnMessage', 'turns.read'), ('OnBeforeInvoke', 'turns.change'),
  ('OnAfterInvoke', 'turns.read'), ('OnBeforeReply', 'turns.change'), ('OnPipelineComplete', 'turns.read'), ('OnTaskCreate', 'tasks.prepare'),
  ('OnTaskComplete', 'tasks.judge'), ('OnTaskValidated', 'tasks.judge'), ('OnTaskFailed', 'tasks.read'))
UPDATE `plugins` SET `unconfirmed` = (
    SELECT json_group_array("capability") FROM (
      SELECT DISTINCT n."capability" FROM json_each("plugins"."manifest", '$.hooks') h JOIN "needs" n ON n."hook" = h."value"
      WHERE n."capability" NOT IN (SELECT g."value" FROM json_each(COALESCE("plugins"."granted", '[]')) g WHERE g."value" IS NOT NULL)
      ORDER BY n."capability"))
  WHERE lower(trim(CAST(`enabled` AS text))) IN ('1', 'true', 't', 'yes', 'on')
  AND `name` NOT IN ('activity', 'context', 'time', 'web', 'delegation', 'worktree', 'validation', 'discord')
  AND CASE WHEN json_valid(`manifest`) THEN json_type(`manifest`, '$.hooks') = 'array' ELSE 0 END
  AND CASE WHEN `granted` IS NULL THEN 1 WHEN json_valid(`granted`) THEN json_type(`granted`) IN ('array', 'null') ELSE 0 END;
UPDATE `plugins` SET `unconfirmed` = NULL WHERE `unconfirmed` = '[]';
UPDATE `plugins` SET `granted` = (
    SELECT json_group_array("value") FROM (
      SELECT "value" FROM json_each(COALESCE("plugins"."granted", '[]')) WHERE "value" IS NOT NULL
      UNION ALL SELECT "value" FROM json_each("plugins"."unconfirmed")))
  WHERE `unconfirmed` IS NOT NULL;
INSERT INTO `audit_entries` (`id`, `who`, `action`, `target`, `detail`, `created_at`)
  SELECT lower(substr(at, 1, 8) || '-' || substr(at, 9, 4) || '-7' || substr(dice, 1, 3) || '-8' || substr(dice, 4, 3) || '-' || substr(dice, 7, 12)),
    'upgrade', 'plugin.grant', `name`,
    'by upgrade: its hooks need ' || (SELECT group_concat("value", ', ') FROM json_each(`unconfirmed`)), strftime('%Y-%m-%d %H:%M:%f+00:00', 'now')
  FROM (SELECT `name`, `unconfirmed`, printf('%012x', CAST(strftime('%s', 'now') AS integer) * 1000) AS at, hex(randomblob(9)) AS dice
    FROM `plugins` WHERE `unconfirmed` IS NOT NULL);
