"""What operators ask of a journal: looking, finding, forgetting, keeping a copy."""
