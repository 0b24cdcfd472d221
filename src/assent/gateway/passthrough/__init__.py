"""Methods other than tools: merged from all upstreams, in sessions of the gateway."""
