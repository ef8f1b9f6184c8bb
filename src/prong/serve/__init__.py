"""`prong serve`: workers behind a unix socket, and the stream of what happens to them."""
