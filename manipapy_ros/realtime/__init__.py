"""Parts of nodes with a real-time loop: polled topics, CDR templates, lean executor, UDP transport."""
