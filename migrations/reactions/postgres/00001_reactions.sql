-- +goose Up

-- How far what reaches outside has got. None of it can be made again from the
-- log, and without it nothing old is sent a second time.

-- Where the log was when these tables were made, and how far it was searched
-- for webhooks and for what did not arrive.
CREATE TABLE reactions (
    one              integer          PRIMARY KEY CHECK (one = 1),
    born_position    bigint           NOT NULL,
    born_event       text COLLATE "C" NOT NULL,
    watched_position bigint           NOT NULL,
    watched_event    text COLLATE "C" NOT NULL
);

-- Each reactor begins after an event that is written down before it does
-- anything, and keeps to its number of lanes.
CREATE TABLE reactor (
    name           text COLLATE "C" PRIMARY KEY CHECK (name <> ''),
    lanes          integer          NOT NULL CHECK (lanes > 0),
    start_position bigint           NOT NULL,
    start_event    text COLLATE "C" NOT NULL
);

CREATE TABLE checkpoint (
    reactor  text COLLATE "C" NOT NULL REFERENCES reactor (name),
    lane     integer          NOT NULL,
    position bigint           NOT NULL,
    event    text COLLATE "C" NOT NULL,
    PRIMARY KEY (reactor, lane)
);

-- What failed and has not arrived since.
CREATE TABLE failure (
    workspace text COLLATE "C" NOT NULL,
    id        text COLLATE "C" NOT NULL,
    webhook   text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX failure_webhook ON failure (workspace, webhook);

-- Which of several processes is at work, and until when unless it says so again.
CREATE TABLE lease (
    one    integer          PRIMARY KEY CHECK (one = 1),
    holder text COLLATE "C" NOT NULL,
    until  bigint           NOT NULL -- milliseconds since 1970, by this database's clock
);
INSERT INTO lease (one, holder, until) VALUES (1, '', 0);
