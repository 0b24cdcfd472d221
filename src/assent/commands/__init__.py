"""Which commands are there? One module each; `assent.cli` names them."""
