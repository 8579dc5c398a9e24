"""Reports: one run as a record, as pictures, as a page that opens anywhere."""

from keyhole.report import plots
from keyhole.report.page import write
from keyhole.report.recorder import record
from keyhole.report.run import Baseline, Run

__all__ = ["Baseline", "Run", "plots", "record", "write"]
