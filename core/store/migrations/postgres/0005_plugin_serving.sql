-- Which version of a plugin answers, which could not, and whether that is the last word.

ALTER TABLE "plugins" ADD COLUMN "generation" bigint NOT NULL DEFAULT 0;
ALTER TABLE "plugins" ADD COLUMN "settled" bigint NOT NULL DEFAULT 0;
ALTER TABLE "plugins" ADD COLUMN "serving" character varying NOT NULL DEFAULT '';
ALTER TABLE "plugins" ADD COLUMN "rejected" character varying NOT NULL DEFAULT '';
