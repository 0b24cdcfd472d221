"""Methods other than tools: relayed to one upstream or merged from several."""
