"""Looking back: what a session's log says, told from the log alone. Nothing here builds, runs or changes anything."""
