"""What happened: the event types, the append-only hash-chained log, content-addressed blobs. Knows nothing above it."""
