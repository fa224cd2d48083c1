-- The settings with which a plugin last ran, and those of its row that it has refused.

ALTER TABLE "plugins" ADD COLUMN "accepted_settings" json NULL;
ALTER TABLE "plugins" ADD COLUMN "refused_settings" json NULL;
