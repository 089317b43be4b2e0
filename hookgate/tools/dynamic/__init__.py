"""Tools that are made while hookgate runs: written, checked, walled in, kept in the catalog, brought back."""
