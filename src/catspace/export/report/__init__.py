"""A fitted model as one HTML page that works offline, for people who would rather look."""

from catspace.export.report.page import check_report, write_report

__all__ = ["check_report", "write_report"]
