"""Recording of topics to MCAP files, and their replay."""
