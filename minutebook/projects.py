"""What a project is called on every machine: by its repository, not by its folder. Standard library only."""
