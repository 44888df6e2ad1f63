"""From a sample and settings to fitted levels."""
