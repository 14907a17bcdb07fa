-- +goose Up

-- Generated columns are computed by every INSERT, stored or not: two JSON
-- look-ups an event, on the one connection that writes.
ALTER TABLE events DROP COLUMN action;
ALTER TABLE events DROP COLUMN principal;

-- The log for people: nothing of it is stored, so it cannot disagree.
CREATE VIEW history AS
SELECT e.position, s.name AS stream, e.version, e.id, e.word, e.revision,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.recorded_at / 1e9, 'unixepoch') AS recorded_at,
       e.envelope ->> '$.action' AS action,
       (e.envelope ->> '$.principal.kind') || ':' || (e.envelope ->> '$.principal.id') AS principal,
       e.envelope, e.data
FROM events e JOIN streams s ON s.id = e.stream;
