"""What a repair session is: states, events folded into state, the rules, and the engine that drives it."""
