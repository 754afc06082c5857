"""The portal's doors and actions on a real PostgreSQL and a real Valkey."""
