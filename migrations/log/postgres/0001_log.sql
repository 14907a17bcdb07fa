-- +goose Up

-- The name of every stream, once. A stream's id is the position of its first
-- event. A name may be longer than an index can hold, so its hash is indexed.
CREATE TABLE streams (
  id   bigint PRIMARY KEY,
  name bytea  NOT NULL
);

CREATE UNIQUE INDEX streams_name ON streams (sha256(name));

-- Every event, in the bytes the chain covers. What a text may not hold here
-- (the character 0) other databases take in a name or an id: hence bytea. No
-- foreign key: a stream whose name is missing shows in the chain.
CREATE TABLE events (
  position    bigint PRIMARY KEY,
  stream      bigint NOT NULL,
  version     bigint NOT NULL,
  id          bytea  NOT NULL,
  word        text   NOT NULL,
  revision    bigint NOT NULL,
  recorded_at bigint NOT NULL, -- nanoseconds since 1970, UTC
  envelope    bytea  NOT NULL,
  data        bytea  NOT NULL,
  link        bytea  NOT NULL, -- the chain up to and including this event
  UNIQUE (stream, version)
);

-- Where the log ends. Every append moves it in the statement that writes, and
-- only from where it was expected: that fences other writers. It is rewritten
-- at each commit, so most of its page is left free for that.
CREATE TABLE head (
  one         smallint PRIMARY KEY CHECK (one = 1),
  position    bigint NOT NULL,
  recorded_at bigint NOT NULL,
  chain       bytea  NOT NULL
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

-- By this the log is known for what it is.
COMMENT ON TABLE head IS 'Assent log';

INSERT INTO head VALUES (1, 0, 0, decode(repeat('00', 32), 'hex'));

-- The log for people: nothing of it is stored, so it cannot disagree.
CREATE VIEW history AS
SELECT e.position, convert_from(s.name, 'UTF8') AS stream, e.version, convert_from(e.id, 'UTF8') AS id, e.word, e.revision,
       to_timestamp(e.recorded_at / 1e9) AS recorded_at,
       convert_from(e.envelope, 'UTF8')::json ->> 'action' AS action,
       (convert_from(e.envelope, 'UTF8')::json #>> '{principal,kind}') || ':' || (convert_from(e.envelope, 'UTF8')::json #>> '{principal,id}') AS principal,
       convert_from(e.envelope, 'UTF8') AS envelope, convert_from(e.data, 'UTF8') AS data
FROM events e JOIN streams s ON s.id = e.stream;

-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'what is in the log is never changed or removed';
END
$$;
-- +goose StatementEnd

CREATE TRIGGER events_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON events EXECUTE FUNCTION refuse_change();
CREATE TRIGGER streams_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON streams EXECUTE FUNCTION refuse_change();
CREATE TRIGGER head_remains BEFORE DELETE OR TRUNCATE ON head EXECUTE FUNCTION refuse_change();

-- Who may append and read, and nothing more. The server takes this role where
-- it may; an administrator can grant it to a login that owns nothing here.
-- Roles belong to the whole cluster: another log may make it at this moment.
-- +goose StatementBegin
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'assent_log_writer') THEN
    CREATE ROLE assent_log_writer NOLOGIN;
    EXECUTE format('GRANT assent_log_writer TO %I', current_user);
  END IF;
EXCEPTION
  WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'assent_log_writer') THEN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO assent_log_writer', current_schema());
    GRANT SELECT, INSERT ON streams, events TO assent_log_writer;
    GRANT SELECT, UPDATE ON head TO assent_log_writer;
    GRANT SELECT ON history, log_versions TO assent_log_writer;
  END IF;
END
$$;
-- +goose StatementEnd
