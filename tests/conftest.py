"""What every test runs under."""

import os
import signal

# An f-string over an Output yields a sentence of advice as its value; with this it raises instead.
os.environ["PULUMI_ERROR_OUTPUT_STRING"] = "true"

# A runner in the background hands down an ignored SIGINT; tests of Ctrl-C need the usual one.
signal.signal(signal.SIGINT, signal.default_int_handler)
