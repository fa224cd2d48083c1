-- What the person may do who has typed a message, as the plugin says that has submitted it.

ALTER TABLE "messages" ADD COLUMN "scope" character varying NOT NULL DEFAULT '';
