-- +goose Up

-- Positions begin with 1: a row before them would be no part of the chain, and
-- still be read as a part of its stream.
-- +goose StatementBegin
CREATE TRIGGER events_begin BEFORE INSERT ON events WHEN NEW.position < 1
BEGIN
  SELECT RAISE(ABORT, 'positions begin with 1');
END;
-- +goose StatementEnd
