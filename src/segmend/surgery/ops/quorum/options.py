"""What `plan quorum` may be asked."""

from __future__ import annotations

from segmend.frozen import frozen
from segmend.surgery.options import flag, option
from segmend.surgery.planning import accepted_loss, amounts


@frozen
class Options:
    """What `plan quorum` may be asked."""

    from_: tuple[str, ...] = option(
        "another node's metadata dir, or its __cluster_metadata-0; repeatable", "DIR", default=()
    )
    standalone: bool = flag("the other voters are lost for good: this node becomes the only one")
    config: str | None = option("the node's server.properties", "FILE")
    gone: tuple[int, ...] = option(
        "a voter whose disks are gone for good; repeatable", "N", amounts.node_id, default=()
    )
    live_source: bool = flag("a node runs on a copy given by --from: read it as it is now")
    accept_loss: int | None = option(
        "give up N records of the metadata that no whole copy has", "N-records", accepted_loss.records
    )
