-- +goose Up

-- Texts compare by their bytes (COLLATE "C"), whatever the database's language
-- is: so ids sort by the time they were made.

-- Which secret this vault was made with, without telling the secret.
CREATE TABLE vault (
    one      integer PRIMARY KEY CHECK (one = 1),
    verifier bytea   NOT NULL
);

-- By this the vault is known for what it is.
COMMENT ON TABLE vault IS 'Assent vault';

CREATE TABLE person (
    workspace text COLLATE "C" NOT NULL CHECK (workspace <> ''),
    id        text COLLATE "C" NOT NULL CHECK (id <> ''),
    email     text COLLATE "C" NOT NULL, -- as its owner writes it
    email_key text COLLATE "C" NOT NULL, -- as it is compared
    password  text COLLATE "C",          -- argon2id; none until one is set
    PRIMARY KEY (workspace, id),
    UNIQUE (email_key, workspace) -- in this order: signing in knows only the email
);

-- What people read in place of an id: persons, agents, keys alike.
CREATE TABLE name (
    workspace text COLLATE "C" NOT NULL CHECK (workspace <> ''),
    id        text COLLATE "C" NOT NULL CHECK (id <> ''),
    name      text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace, id)
);

-- A spent link stays for a while, so that its owner is told that it is spent
-- and not that it never was. Person is empty before there is anybody.
CREATE TABLE link (
    hash      bytea            PRIMARY KEY,
    workspace text COLLATE "C" NOT NULL CHECK (workspace <> ''),
    purpose   text COLLATE "C" NOT NULL CHECK (purpose <> ''),
    person    text COLLATE "C" NOT NULL,
    expires   bigint           NOT NULL, -- times are milliseconds since 1970
    spent     integer          NOT NULL DEFAULT 0
);
CREATE INDEX link_purpose ON link (workspace, purpose);
CREATE INDEX link_expires ON link (expires);

CREATE TABLE session (
    hash      bytea            PRIMARY KEY,
    id        text COLLATE "C" NOT NULL UNIQUE,
    workspace text COLLATE "C" NOT NULL,
    person    text COLLATE "C" NOT NULL,
    created   bigint           NOT NULL,
    seen      bigint           NOT NULL,
    expires   bigint           NOT NULL,
    FOREIGN KEY (workspace, person) REFERENCES person (workspace, id) ON DELETE CASCADE
);
CREATE INDEX session_person ON session (workspace, person);
CREATE INDEX session_expires ON session (expires);

CREATE TABLE agent_key (
    hash      bytea            PRIMARY KEY,
    workspace text COLLATE "C" NOT NULL CHECK (workspace <> ''),
    agent     text COLLATE "C" NOT NULL CHECK (agent <> ''),
    id        text COLLATE "C" NOT NULL CHECK (id <> ''),
    prefix    text COLLATE "C" NOT NULL,
    created   bigint           NOT NULL,
    used      bigint           NOT NULL DEFAULT 0, -- 0: never
    UNIQUE (workspace, id)
);
CREATE INDEX agent_key_agent ON agent_key (workspace, agent);

-- Not tied to person: local callers write reasons too.
CREATE TABLE sealing_key (
    workspace text COLLATE "C" NOT NULL CHECK (workspace <> ''),
    person    text COLLATE "C" NOT NULL CHECK (person <> ''),
    wrapped   bytea            NOT NULL,
    PRIMARY KEY (workspace, person)
);

-- All that is left of an erased person, and what keeps them from coming back.
CREATE TABLE erased (
    workspace text COLLATE "C" NOT NULL CHECK (workspace <> ''),
    person    text COLLATE "C" NOT NULL CHECK (person <> ''),
    at        bigint           NOT NULL,
    wiped     integer          NOT NULL DEFAULT 0, -- 1: no file of these tables holds them any more
    gone      xid8             NOT NULL DEFAULT pg_current_xact_id(), -- what began before this one may see them still
    PRIMARY KEY (workspace, person)
);

-- The planner's statistics are samples of what is in the tables, kept
-- elsewhere: there must be none of what erasing has to take away.
ALTER TABLE person ALTER COLUMN email SET STATISTICS 0, ALTER COLUMN email_key SET STATISTICS 0, ALTER COLUMN password SET STATISTICS 0;
ALTER TABLE name ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE sealing_key ALTER COLUMN wrapped SET STATISTICS 0;
