"""What several commands share: options, output, targets, access to the store."""
