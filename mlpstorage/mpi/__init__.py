"""What the client hosts are like, asked through MPI (and from /proc where there is only one host)."""
