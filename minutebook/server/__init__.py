"""The team box's HTTP door: it reads, takes in and marks work, and never does it."""
