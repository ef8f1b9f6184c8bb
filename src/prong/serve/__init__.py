"""`prong serve`: control workers and stream their events over a unix socket."""
