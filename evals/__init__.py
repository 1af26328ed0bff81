"""The prompt test set: small transcripts with what must and must not be recorded of them."""
