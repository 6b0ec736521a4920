"""What brokers do with the files of their log dirs while they start: rules, by release, as data.

Each rule is a `Rule`: the releases where it turned, and the class, KIP or JIRA it follows.
Nothing here reads a disk; `segmend.loading` applies the rules to one.
"""

from __future__ import annotations
