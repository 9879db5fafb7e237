"""Where results trees lie: a directory, an archive, a bucket."""
