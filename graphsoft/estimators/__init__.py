"""Estimators: the clusterings as classes with the interface of scikit-learn."""
