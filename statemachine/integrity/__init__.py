"""First integrity: what the engine can say about a candidate from its text and from what was observed while it ran.

`scope` gates patches, `wrapper` and `binding` read sources default-deny, `dynamic` turns observations into evidence and
`judge` folds all of it into a verdict. Pure functions: no torch import, no candidate code is executed here. The threat
model and what is not covered yet are in docs/integrity.md.
"""
