"""What connections to others have in common, where they may lead, whom they believe, how they fail."""
