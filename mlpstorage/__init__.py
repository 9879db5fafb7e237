"""The run-time tool of MLPerf Storage: plans a run, gates it by the rule book, launches it, writes its leaf."""

__version__ = "0.1.0"
