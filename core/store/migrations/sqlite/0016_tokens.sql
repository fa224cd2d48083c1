-- Who may call from outside: tokens, the sessions made of them, and login tokens.

CREATE TABLE `tokens` (
  `id` text NOT NULL,
  `name` text NOT NULL,
  `kind` text NOT NULL,
  `scope` text NOT NULL,
  `parent_id` text NOT NULL DEFAULT (''),
  `hash` text NOT NULL,
  `created_by` text NOT NULL DEFAULT (''),
  `created_at` datetime NOT NULL,
  `expires_at` datetime NULL,
  `last_used_at` datetime NULL,
  `revoked_at` datetime NULL,
  PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `token_hash` ON `tokens` (`hash`);
CREATE INDEX `token_parent_id` ON `tokens` (`parent_id`);
CREATE INDEX `token_revoked_at` ON `tokens` (`revoked_at`);
