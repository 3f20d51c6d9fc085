"""What fit was given -> rows to train on."""
