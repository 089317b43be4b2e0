"""What the table in README is made with: each figure beside a floor that the same run measures."""
