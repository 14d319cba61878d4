"""Forensics: what a wrong tensor looks like, and what the passing neighbours of a failing case say about the fault.

Pure functions over arrays and case results; nothing here runs a kernel or reads a source. `vocabulary` has the words.
"""

from statemachine.forensics.diagnosis import Diagnosis, brief_text, diagnose
from statemachine.forensics.features import observe
from statemachine.forensics.vocabulary import VOCABULARY, meaning

__all__ = ["VOCABULARY", "Diagnosis", "brief_text", "diagnose", "meaning", "observe"]
