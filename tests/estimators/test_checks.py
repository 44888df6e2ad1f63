"""The checks that scikit-learn has for estimators of others."""

import os
import subprocess
import sys
from unittest import SkipTest

import pytest
from sklearn.utils import estimator_checks

import graphsoft
from graphsoft import SoftClustering, SoftHierarchy
from graphsoft.methods import METHODS

pytestmark = pytest.mark.filterwarnings("ignore")  # the checks pass odd input

# scikit-learn takes whatever has predict_proba and reads sparse matrices for a classifier, of four classes
# before 1.6, and with the tags of classifiers since; 1.9.1 still does. These checks run below without
# predict_proba.
AS_CLASSIFIER = {"check_estimator_sparse_array", "check_estimator_sparse_matrix"}
# scikit-learn passes features to this check even if the estimator says that it takes pairs.
NEVER_PAIRS = {"check_clustering"}
# It runs below in a process of its own, since SciPy reads SCIPY_ARRAY_API when it is imported.
WITH_VARIABLE = {"check_array_api_input"}
FLOW = """if True:
    from graphsoft import SoftHierarchy
    from sklearn.utils.estimator_checks import estimator_checks_generator
    for estimator, check in estimator_checks_generator(SoftHierarchy()):
        if check.func.__name__ == "check_array_api_input":
            check(estimator)
"""


class WithoutProba(SoftHierarchy):
    """A hierarchy that no check takes for a classifier."""

    @property
    def predict_proba(self):
        raise AttributeError


def name_of(check):
    while hasattr(check, "func"):
        check = check.func
    return check.__name__


def checks_of(estimator):
    if hasattr(estimator_checks, "estimator_checks_generator"):
        return estimator_checks.estimator_checks_generator(estimator)
    return estimator_checks.check_estimator(estimator, generate_only=True)  # before 1.6


def run(estimator, wrong):
    """Run all checks but the `wrong` ones; return the names of those run, and of those that were skipped."""
    ran, skipped = set(), set()
    for each, check in checks_of(estimator):
        if name_of(check) in wrong:
            continue
        ran.add(name_of(check))
        try:
            check(each)
        except SkipTest:
            skipped.add(name_of(check))
    return ran, skipped


@pytest.mark.parametrize(
    "estimator",
    [SoftHierarchy(), SoftHierarchy(sparse_output=False), SoftHierarchy("auto")],
    ids=["sparse", "dense", "auto"],
)
def test_hierarchies(estimator):
    ran, skipped = run(estimator, AS_CLASSIFIER)
    assert len(ran) > 30
    assert skipped <= WITH_VARIABLE


@pytest.mark.parametrize("method", METHODS)
def test_clusterings(method):
    ran, skipped = run(SoftClustering(method=method), AS_CLASSIFIER)
    assert len(ran) > 30
    assert skipped <= WITH_VARIABLE


@pytest.mark.parametrize("affinity", ["precomputed", "precomputed_nearest_neighbors"])
def test_pairs(affinity):
    ran, skipped = run(SoftHierarchy(affinity=affinity), AS_CLASSIFIER | NEVER_PAIRS)
    assert "check_nonsquare_error" in ran
    assert skipped <= WITH_VARIABLE


def test_sparse_matrices_without_probabilities():
    others = {name_of(check) for _, check in checks_of(WithoutProba())} - AS_CLASSIFIER
    ran, skipped = run(WithoutProba(), others)
    assert ran == AS_CLASSIFIER
    assert not skipped


def test_array_api():
    if not hasattr(estimator_checks, "check_array_api_input"):
        pytest.skip("this scikit-learn has no such check")
    if not hasattr(estimator_checks, "estimator_checks_generator"):
        pytest.skip("before 1.6 this check is not for estimators without array API")
    folder = os.path.dirname(os.path.dirname(graphsoft.__file__))
    environment = os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONPATH": folder}
    done = subprocess.run(
        [sys.executable, "-c", FLOW],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if "SkipTest" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("estimator", [SoftHierarchy([6, 3]), SoftClustering(3)], ids=["levels", "flat"])
def test_names_of_outputs(estimator):
    """Checks that scikit-learn runs for its own transformers only."""
    name = type(estimator).__name__
    estimator.set_params(sparse_output=False)
    estimator_checks.check_transformer_get_feature_names_out(name, estimator)
    estimator_checks.check_get_feature_names_out_error(name, estimator)
    estimator_checks.check_dataframe_column_names_consistency(name, estimator)
    for module, checks in [
        ("pandas", ["transformer_get_feature_names_out_pandas", "set_output_transform_pandas",
                    "global_output_transform_pandas"]),
        ("polars", ["set_output_transform_polars", "global_set_output_transform_polars"]),
    ]:  # fmt: skip
        try:
            __import__(module)
        except ImportError:
            continue
        for check in checks:
            getattr(estimator_checks, f"check_{check}")(name, estimator)
