"""What tests of several rooms share: points, graphs and Hypothesis strategies."""
