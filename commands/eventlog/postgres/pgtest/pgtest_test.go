package pgtest

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestEveryDatabaseIsEmptyAndOneOfItsOwn(t *testing.T) {
	one, two := Database(t), Database(t)
	Exec(t, one, "CREATE TABLE here (id int)")
	Exec(t, two, "CREATE TABLE here (id int)")
}

func TestACopyHoldsWhatTheOtherHeld(t *testing.T) {
	one := Database(t)
	Exec(t, one, "CREATE TABLE here (id int)")
	Exec(t, Copy(t, one), "INSERT INTO here VALUES (1)")
}

func TestADatabaseIsGoneWithItsTest(t *testing.T) {
	var where string
	t.Run("inner", func(t *testing.T) { where = Database(t) })
	c, err := pgx.Connect(t.Context(), where)
	if err == nil {
		t.Fatal(errors.Join(errors.New("it is still there"), c.Close(t.Context())))
	}
}

func TestAClusterKeepsWhatItHadWhenItIsStartedAgain(t *testing.T) {
	c := Start(t, "work_mem=1MB")
	where := c.Database(t)
	Exec(t, where, "CREATE TABLE here (id int)")
	c.Kill(t)
	if db, err := pgx.Connect(t.Context(), where); err == nil {
		t.Fatal(errors.Join(errors.New("it still answers"), db.Close(context.Background())))
	}
	c.Again(t)
	Exec(t, where, "INSERT INTO here VALUES (1)")
}

func TestAClusterLeavesNothingBehind(t *testing.T) {
	var dir string
	t.Run("inner", func(t *testing.T) { dir = Start(t).dir })
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("its folder: %v", err)
	}
}
