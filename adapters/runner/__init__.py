"""The candidate's process: started, limited, watched and read as hostile (``client.Runner`` is the way in)."""
