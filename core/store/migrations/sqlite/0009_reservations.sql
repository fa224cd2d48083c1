-- What gates set aside for runs before the agent is called, and what was spent from their accounts.

CREATE TABLE `reservations` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `plugin` text NOT NULL,
  `account` text NOT NULL,
  `run_id` text NOT NULL,
  `usd` real NOT NULL
);
CREATE UNIQUE INDEX `reservation_plugin_account_run_id` ON `reservations` (`plugin`, `account`, `run_id`);
