"""System descriptions (``systems/<name>.yaml``): their format, what is wrong with one, and a file to start from."""
