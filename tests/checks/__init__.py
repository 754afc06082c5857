"""The checks checked: each of them is seen to fail once."""
