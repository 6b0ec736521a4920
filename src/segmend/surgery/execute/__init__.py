"""A plan carried out or taken back: journalled, under the locks, from wherever it was stopped."""
