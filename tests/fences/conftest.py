"""The fences are tried on the portal tests' own stage."""

from tests.portal.conftest import link, stage

__all__ = ["link", "stage"]
