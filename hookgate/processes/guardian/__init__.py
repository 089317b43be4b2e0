"""What stands above hookgate, what descends from it, and the end of both. Standard library alone; starts nothing."""

from hookgate.processes.guardian.guardian import under_guardian as under_guardian
