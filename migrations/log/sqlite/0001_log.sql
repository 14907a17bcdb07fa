-- +goose Up

-- The file says whose it is: "ASNT".
PRAGMA application_id = 1095978580;

-- The name of every stream, once.
CREATE TABLE streams (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

-- Every event, in the bytes the chain covers. Action and principal are read
-- out of the envelope, so they cannot disagree with it.
CREATE TABLE events (
  position    INTEGER PRIMARY KEY,
  stream      INTEGER NOT NULL REFERENCES streams (id),
  version     INTEGER NOT NULL,
  id          TEXT    NOT NULL,
  word        TEXT    NOT NULL,
  revision    INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL, -- nanoseconds since 1970, UTC
  envelope    TEXT    NOT NULL,
  data        TEXT    NOT NULL,
  link        BLOB    NOT NULL, -- the chain up to and including this event
  action      TEXT AS (envelope ->> '$.action') VIRTUAL,
  principal   TEXT AS ((envelope ->> '$.principal.kind') || ':' || (envelope ->> '$.principal.id')) VIRTUAL,
  UNIQUE (stream, version)
) STRICT;

-- Where the log ends. Every append reads it first and moves it last, in one
-- transaction: that fences a second writer.
CREATE TABLE head (
  one         INTEGER PRIMARY KEY CHECK (one = 1),
  position    INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  chain       BLOB    NOT NULL
) STRICT;

INSERT INTO head VALUES (1, 0, 0, zeroblob(32));

-- +goose StatementBegin
CREATE TRIGGER events_stay BEFORE UPDATE ON events
BEGIN
  SELECT RAISE(ABORT, 'what is in the log is never changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER events_remain BEFORE DELETE ON events
BEGIN
  SELECT RAISE(ABORT, 'what is in the log is never removed');
END;
-- +goose StatementEnd
