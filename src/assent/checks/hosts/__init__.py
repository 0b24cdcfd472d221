"""Effects of a tool's hints in hosts and directories."""
