"""OAuth towards upstreams: discovery, sign-in, and one credential per upstream or per person."""
