"""One page on a partition, for a person who must act on it: complete in one file, on screen, on paper, on a phone."""

from dempster.apps.report.make import Report, make_report

__all__ = ["make_report", "Report"]
