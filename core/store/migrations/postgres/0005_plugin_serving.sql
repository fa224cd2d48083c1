-- Which version of a plugin answers, and which could not.

ALTER TABLE "plugins" ADD COLUMN "serving" character varying NOT NULL DEFAULT '';
ALTER TABLE "plugins" ADD COLUMN "rejected" character varying NOT NULL DEFAULT '';
