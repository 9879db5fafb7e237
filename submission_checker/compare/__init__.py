"""``submission-checker compare``: is the difference between runs larger than the difference between equal runs?"""


class CompareUsageError(ValueError):
    """The command line asks for something that cannot be done."""
