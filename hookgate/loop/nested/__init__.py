"""Calls that make calls: what they belong to, and turns that a call begins for another agent."""
