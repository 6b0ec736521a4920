"""How bad a finding is, by what the next start does about it.

`judge` decides, `effects` matches the finding to what the start does, `words` tells it. Nothing of this
is imported before there is a finding.
"""

from __future__ import annotations
