"""A fitted model as one HTML page that works offline, for people who would rather look."""

from catspace.export.report.page import Report, check_report, make_report, write_report

__all__ = ["Report", "check_report", "make_report", "write_report"]
