"""Workers: who proposes patches. `rules` needs no model and no network."""
