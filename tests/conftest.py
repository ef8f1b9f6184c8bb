"""Fixtures of all tests. Those of `prong.testing` come with the installed package."""

import signal

pytest_plugins = ["tests.drivers.fixtures"]

# A job in the background ignores these signals, and hands that on to every program that it starts.
# The tests send them, so they mean what they mean at a terminal.
for _signal, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGQUIT, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_signal) == signal.SIG_IGN:
        signal.signal(_signal, _handler)
