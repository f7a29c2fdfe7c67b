"""What nodes with a real-time loop use: polled topics, CDR templates, executor, transport."""
