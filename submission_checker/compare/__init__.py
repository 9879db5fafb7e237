"""``submission-checker compare``: is the difference between runs larger than the difference between equal runs?"""
