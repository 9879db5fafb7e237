"""Judges finished results trees of MLPerf Storage by the rule book."""

__version__ = "0.1.0"
