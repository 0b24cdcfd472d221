"""What may object to a call: guards, policies and flow control."""
