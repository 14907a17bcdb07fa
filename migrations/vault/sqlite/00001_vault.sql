-- +goose Up

-- Which secret this vault was made with, without telling the secret.
CREATE TABLE vault (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    verifier BLOB    NOT NULL
) STRICT;

CREATE TABLE person (
    workspace TEXT NOT NULL CHECK (workspace <> ''),
    id        TEXT NOT NULL CHECK (id <> ''),
    email     TEXT NOT NULL, -- as its owner writes it
    email_key TEXT NOT NULL, -- as it is compared
    password  TEXT,          -- argon2id; none until one is set
    PRIMARY KEY (workspace, id),
    UNIQUE (email_key, workspace) -- in this order: signing in knows only the email
) STRICT, WITHOUT ROWID;

-- What people read in place of an id: persons, agents, keys alike.
CREATE TABLE name (
    workspace TEXT NOT NULL CHECK (workspace <> ''),
    id        TEXT NOT NULL CHECK (id <> ''),
    name      TEXT NOT NULL,
    PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;

-- A spent link stays for a while, so that its owner is told that it is spent
-- and not that it never was. Person is empty before there is anybody.
CREATE TABLE link (
    hash      BLOB    PRIMARY KEY,
    workspace TEXT    NOT NULL CHECK (workspace <> ''),
    purpose   TEXT    NOT NULL CHECK (purpose <> ''),
    person    TEXT    NOT NULL,
    expires   INTEGER NOT NULL, -- times are milliseconds since 1970
    spent     INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX link_purpose ON link (workspace, purpose);
CREATE INDEX link_expires ON link (expires);

CREATE TABLE session (
    hash      BLOB    PRIMARY KEY,
    id        TEXT    NOT NULL UNIQUE,
    workspace TEXT    NOT NULL,
    person    TEXT    NOT NULL,
    created   INTEGER NOT NULL,
    seen      INTEGER NOT NULL,
    expires   INTEGER NOT NULL,
    FOREIGN KEY (workspace, person) REFERENCES person (workspace, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX session_person ON session (workspace, person);
CREATE INDEX session_expires ON session (expires);

CREATE TABLE agent_key (
    hash      BLOB    PRIMARY KEY,
    workspace TEXT    NOT NULL CHECK (workspace <> ''),
    agent     TEXT    NOT NULL CHECK (agent <> ''),
    id        TEXT    NOT NULL CHECK (id <> ''),
    prefix    TEXT    NOT NULL,
    created   INTEGER NOT NULL,
    used      INTEGER NOT NULL DEFAULT 0, -- 0: never
    UNIQUE (workspace, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_key_agent ON agent_key (workspace, agent);

-- Not tied to person: local callers write reasons too.
CREATE TABLE sealing_key (
    workspace TEXT NOT NULL CHECK (workspace <> ''),
    person    TEXT NOT NULL CHECK (person <> ''),
    wrapped   BLOB NOT NULL,
    PRIMARY KEY (workspace, person)
) STRICT, WITHOUT ROWID;

-- All that is left of an erased person, and what keeps them from coming back.
CREATE TABLE erased (
    workspace TEXT    NOT NULL CHECK (workspace <> ''),
    person    TEXT    NOT NULL CHECK (person <> ''),
    at        INTEGER NOT NULL,
    wiped     INTEGER NOT NULL DEFAULT 0, -- 1: no byte of the file holds them any more
    PRIMARY KEY (workspace, person)
) STRICT, WITHOUT ROWID;
