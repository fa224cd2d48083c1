-- Of a typed command that concerns no conversation, and is beside its thread: its name. Of every other run it is empty.

ALTER TABLE "runs" ADD COLUMN "beside_as" character varying NOT NULL DEFAULT '';
