package vault

import (
	"context"
	"fmt"
)

// Any says that there are people in the vault at all.
func (v *Vault) Any(ctx context.Context) (found bool, err error) {
	ctx, cancel := within(ctx)
	defer cancel()
	err = v.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM person)").Scan(&found)
	if err != nil {
		return false, fmt.Errorf("look for people: %w", err)
	}
	return found, nil
}
