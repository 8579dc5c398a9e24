"""Reports: one run as a record, as pictures, as a page that opens anywhere."""

from keyhole.report import plots
from keyhole.report.options import About, Scope
from keyhole.report.page import write
from keyhole.report.recorder import Recorder, record
from keyhole.report.run import Baseline, Run

__all__ = ["About", "Baseline", "Recorder", "Run", "Scope", "plots", "record", "write"]
