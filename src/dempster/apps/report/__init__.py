"""Reports on partitions: one self-contained HTML file for screen, paper and phone."""

from dempster.apps.report.make import Report, make_report

__all__ = ["make_report", "Report"]
