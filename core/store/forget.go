package store

import "context"

// ForgetPlugin removes a plugin's row. Its state and its secrets stay, for when
// it is installed again.
func (s *Store) ForgetPlugin(ctx context.Context, name string) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		n, err := tx.run(ctx, "DELETE FROM plugins WHERE name = $1", name)
		if err == nil && n == 0 {
			return noPlugin(name)
		}
		return err
	})
	return wrap("forget plugin", err)
}
