"""What the tests of data share: a server with public corpora of our own."""

from tests.data.public import served

__all__ = ["served"]
