"""``mlpstorage checkpointing run``: plan, gate, readiness, launch, leaf - in this order, each step in its own module.

=============  =========================================================================================
``options``    command line to :class:`~mlpstorage.checkpointing.plan.Plan` (usage errors)
``plan``       what was asked for, and what follows from it: overrides, architecture, placement
``launch``     the launch adapter: a plan to facts
``gate``       facts to a decision, by the rules of one edition
``names``      submitter and system that the results are recorded under
``notices``    what deserves a word about the place of the results
``readiness``  is the machine able to do it (MPI, DLIO, memory, space, filesystems)
``command``    the argv that is started
``execute``    starts it, follows it, ends it
``leaf``       the run directory and its metadata
``run``        the order of all that
=============  =========================================================================================
"""
