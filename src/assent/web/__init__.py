"""HTTP basics shared by the gateway, the console and the client's web page."""
