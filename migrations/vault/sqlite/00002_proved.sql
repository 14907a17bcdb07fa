-- +goose Up

-- When whoever is signed in last showed that it is they: by signing in, or by
-- their password once more.
ALTER TABLE session ADD COLUMN proved INTEGER NOT NULL DEFAULT 0;
UPDATE session SET proved = created;
