"""The agent: real processes, a real worker on a real Valkey, and a small double of the portal."""
