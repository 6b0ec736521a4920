"""Whole KRaft nodes without their metadata log, a dir, a partition, or with wrong topic ids."""
