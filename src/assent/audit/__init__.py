"""The audit log: entries, Merkle tree, signed checkpoints, anchors, export and verification."""
