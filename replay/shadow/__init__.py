"""Shadows: the outcome a recorded session would have had under other rules, derived from its log alone.

    record.py    one session's log, read once: the recorded effects by attempt, and every time the worker was asked
    policy.py    other rules: what each changes, what it needs from the log, what it takes for granted
    derive.py    the session decided anew by statemachine/decide.py over the recorded effects
    posthoc.py   evaluations made afterwards, in a stream of their own, that say whether a selected candidate holds
    report.py    rows and the table

A shadow is descriptive: it is not a run, and every table and every JSON line says so.
"""

#: Said with every figure that comes from a shadow.
LABEL = "derived from the log, descriptive"
