"""Logs that are as long as a segment from their first batch on (`log.preallocate`), after a kill."""
