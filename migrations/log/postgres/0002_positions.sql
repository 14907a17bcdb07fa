-- +goose Up

-- Positions begin with 1: a row before them would be no part of the chain, and
-- still be read as a part of its stream.
ALTER TABLE events ADD CONSTRAINT events_begin CHECK (position > 0);
