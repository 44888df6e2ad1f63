"""What comes out: hierarchies, and all that can be asked of them."""
