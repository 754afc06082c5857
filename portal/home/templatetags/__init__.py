"""Tags and filters that every room's templates may load."""
