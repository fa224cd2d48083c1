-- The plugin that gave a task its directory says what the task's work is. Of tasks from before that was stored, those in
-- a worktree are the plugin worktree's.

ALTER TABLE `tasks` ADD COLUMN `cwd_plugin` text NOT NULL DEFAULT ('');
UPDATE `tasks` SET `cwd_plugin` = 'worktree' WHERE `cwd_plugin` = '' AND `cwd` <> `first_cwd` AND `cwd` LIKE '%/.claude/worktrees/' || `id` || '%';
