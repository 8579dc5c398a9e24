# The public names, each with the module it is loaded from; `keyhole/_lazy.py` reads this file.
from keyhole.report import plots as plots
from keyhole.report.page import write as write
from keyhole.report.recorder import About as About
from keyhole.report.recorder import Recorder as Recorder
from keyhole.report.recorder import Scope as Scope
from keyhole.report.recorder import record as record
from keyhole.report.run import Baseline as Baseline
from keyhole.report.run import Run as Run

__all__: list[str]
