"""What is known: repair patterns as reviewable files, their rewriters, and retrieval for a failure at hand."""
