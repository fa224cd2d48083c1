-- Whose words or whose act a row is, and whether a thread is apart. A thread is apart that works in a directory of a
-- thread's own, and so are the threads of the tasks below it. Of rows from before, a thread says what it is now.

ALTER TABLE `threads` ADD COLUMN `apart` bool NOT NULL DEFAULT (false);
WITH RECURSIVE `found` (`id`) AS (
  SELECT `id` FROM `threads` WHERE `cwd` || '/' GLOB
    '*/[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]/own/*'
  UNION SELECT `t`.`id` FROM `threads` `t` JOIN `found` `f` ON `t`.`parent_thread_id` = `f`.`id` WHERE `t`.`kind` = 'task')
UPDATE `threads` SET `apart` = true WHERE `id` IN (SELECT `id` FROM `found`);
ALTER TABLE `messages` ADD COLUMN `apart` bool NOT NULL DEFAULT (false);
ALTER TABLE `messages` ADD COLUMN `origin` json NULL;
UPDATE `messages` SET `apart` = true WHERE `thread_id` IN (SELECT `id` FROM `threads` WHERE `apart`);
ALTER TABLE `approvals` ADD COLUMN `origin` json NULL;
ALTER TABLE `task_answers` ADD COLUMN `origin` json NULL;
ALTER TABLE `tasks` ADD COLUMN `origin` json NULL;
ALTER TABLE `workspace_changes` ADD COLUMN `origin` json NULL;
