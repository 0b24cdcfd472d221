"""Web pages where people see, decide and prove what agents did."""
