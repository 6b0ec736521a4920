"""The one exception of the lab: its message is one line that says what is missing and what to do."""


class LabError(Exception):
    """Something the lab needs is missing, or a broker did not do what it was asked."""
