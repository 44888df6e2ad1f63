"""Settings that every test shares."""

from hypothesis import settings

# the first example of a test may compile kernels, which takes seconds: no deadline, and the same examples on
# every machine, so that a failure can be repeated
settings.register_profile("graphsoft", deadline=None, derandomize=True)
settings.load_profile("graphsoft")
