"""Create reports on partitions as self-contained HTML files for screens, phones and print."""

from dempster.apps.report.make import Report, make_report

__all__ = ["make_report", "Report"]
