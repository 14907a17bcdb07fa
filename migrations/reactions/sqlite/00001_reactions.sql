-- +goose Up

-- How far what reaches outside has got. None of it can be made again from the
-- log, and without it nothing old is sent a second time.

-- Where the log was when these tables were made, and how far it was searched
-- for webhooks and for what did not arrive.
CREATE TABLE reactions (
    one              INTEGER PRIMARY KEY CHECK (one = 1),
    born_position    INTEGER NOT NULL,
    born_event       TEXT    NOT NULL,
    watched_position INTEGER NOT NULL,
    watched_event    TEXT    NOT NULL
) STRICT;

-- Each reactor begins after an event that is written down before it does
-- anything, and keeps to its number of lanes.
CREATE TABLE reactor (
    name           TEXT    PRIMARY KEY CHECK (name <> ''),
    lanes          INTEGER NOT NULL CHECK (lanes > 0),
    start_position INTEGER NOT NULL,
    start_event    TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoint (
    reactor  TEXT    NOT NULL REFERENCES reactor (name),
    lane     INTEGER NOT NULL,
    position INTEGER NOT NULL,
    event    TEXT    NOT NULL,
    PRIMARY KEY (reactor, lane)
) STRICT, WITHOUT ROWID;

-- What failed and has not arrived since.
CREATE TABLE failure (
    workspace TEXT NOT NULL,
    id        TEXT NOT NULL,
    webhook   TEXT NOT NULL,
    PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX failure_webhook ON failure (workspace, webhook);

-- Which of several processes is at work, and until when unless it says so again.
CREATE TABLE lease (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    holder TEXT    NOT NULL,
    until  INTEGER NOT NULL -- milliseconds since 1970, by this database's clock
) STRICT;
INSERT INTO lease (one, holder, until) VALUES (1, '', 0);
