"""Merkle tree hashes and proofs (RFC 6962, SHA-256).

A range is a half-open pair of leaf positions. A node is (height, position) and covers the 2**height leaves from
position << height on.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

from assent.audit.verifier import pair_up, root_above

Range = tuple[int, int]
Node = tuple[int, int]
NodeReader = Callable[[Node], bytes]

EMPTY_ROOT = sha256(b"").digest()


class BadProof(ValueError):
    """The proof does not prove its claim."""


def hash_leaf(data: bytes) -> bytes:
    return sha256(b"\x00" + data).digest()


def hash_leaves(leaves: Iterable[bytes]) -> list[bytes]:
    return [sha256(b"\x00" + leaf).digest() for leaf in leaves]


def hash_pair(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def fold(hashes: Sequence[bytes]) -> bytes:
    """Return the root above complete subtrees of falling height, such as a log's peaks."""
    if not hashes:
        return EMPTY_ROOT
    root = hashes[-1]
    for left in reversed(hashes[:-1]):
        root = hash_pair(left, root)
    return root


def complete_root(hashes: Sequence[bytes]) -> bytes:
    """Return the root of a complete subtree from its bottom row (a power of two of hashes)."""
    return pair_up(list(hashes))


def peaks(start: int, stop: int) -> list[Node]:
    """Return the complete subtrees of a range, left to right."""
    nodes = []
    while start < stop:
        height = (stop - start).bit_length() - 1
        if start:
            height = min(height, (start & -start).bit_length() - 1)
        nodes.append((height, start >> height))
        start += 1 << height
    return nodes


def _split(size: int) -> int:
    return 1 << ((size - 1).bit_length() - 1)


def inclusion_ranges(index: int, size: int) -> list[Range]:
    """Return the ranges whose hashes form the audit path of a leaf, from its sibling upwards."""
    if not 0 <= index < size:
        raise BadProof(f"entry {index} is not in a log of {size} entries")
    path: list[Range] = []
    start, stop = 0, size
    while stop - start > 1:
        middle = start + _split(stop - start)
        if index < middle:
            path.append((middle, stop))
            stop = middle
        else:
            path.append((start, middle))
            start = middle
    return path[::-1]


def consistency_ranges(old: int, new: int) -> list[Range]:
    """Return the ranges whose hashes prove that the log of `old` entries is a prefix of the one of `new`."""
    if not 0 <= old <= new:
        raise BadProof(f"a log of {old} entries cannot be the beginning of one of {new}")
    if old in (0, new):
        return []
    path: list[Range] = []
    start, stop = 0, new
    while old != stop:
        middle = start + _split(stop - start)
        if old <= middle:
            path.append((middle, stop))
            stop = middle
        else:
            path.append((start, middle))
            start = middle
    if start:
        path.append((start, stop))
    return path[::-1]


def nodes_needed(ranges: Iterable[Range]) -> list[Node]:
    return [node for start, stop in ranges for node in peaks(start, stop)]


def hash_ranges(ranges: Iterable[Range], read: NodeReader) -> list[bytes]:
    return [fold([read(node) for node in peaks(start, stop)]) for start, stop in ranges]


def verify_inclusion(index: int, size: int, leaf_hash: bytes, proof: Sequence[bytes], root: bytes) -> None:
    if not 0 <= index < size:
        raise BadProof(f"entry {index} is not in a log of {size} entries")
    _check_hashes([leaf_hash, *proof])
    if root_above(index, size, leaf_hash, proof) != root:
        raise BadProof(f"entry {index} is not under the root of the log of {size} entries")


def verify_consistency(old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> None:
    """Raise BadProof unless the log of `new` entries starts with the one of `old` (RFC 9162, 2.1.4.2)."""
    if not 0 <= old <= new:
        raise BadProof(f"a log of {old} entries cannot be the beginning of one of {new}")
    if old in (0, new):
        _verify_trivial(old, new, old_root, new_root, proof)
        return
    _check_hashes(proof)
    path = list(proof)
    node, last = old - 1, new - 1
    while node & 1:
        node, last = node >> 1, last >> 1
    if not path:
        raise BadProof("the proof is too short")
    first = path.pop(0) if node else old_root
    left = right = first
    for sibling in path:
        if last == 0:
            raise BadProof("the proof is too long")
        if node & 1 or node == last:
            left, right = hash_pair(sibling, left), hash_pair(sibling, right)
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            right = hash_pair(right, sibling)
        node, last = node >> 1, last >> 1
    if last:
        raise BadProof("the proof is too short")
    if left != old_root or right != new_root:
        raise BadProof(f"the log of {new} entries does not begin with that log of {old}")


def _verify_trivial(old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> None:
    if proof:
        raise BadProof("the proof is too long")
    if old == 0 and old_root != EMPTY_ROOT:
        raise BadProof("an empty log has another root")
    if old == new and old_root != new_root:
        raise BadProof(f"two logs of {old} entries with different roots")


def _check_hashes(hashes: Sequence[bytes]) -> None:
    if any(len(item) != 32 for item in hashes):
        raise BadProof("a hash in a proof has 32 bytes")
