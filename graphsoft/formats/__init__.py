"""What results are written to and read from."""
