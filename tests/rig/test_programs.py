"""The go.mod files that build the test cluster's programs."""

from tests.rig.programs import APISERVER, GANG_SCHEDULER, Program, go_mod

KUBERNETES = """\
module k8s.io/kubernetes

go 1.26.0

require k8s.io/api v0.0.0

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/client-go => ./staging/src/k8s.io/client-go
)
"""
SCHEDULER_PLUGINS = """\
module sigs.k8s.io/scheduler-plugins

go 1.25.0

replace (
	k8s.io/api => k8s.io/api v0.35.4
	k8s.io/kubernetes => k8s.io/kubernetes v1.35.4
)
"""


def test_staging_modules_are_taken_at_the_version_of_the_release() -> None:
    lines = go_mod(APISERVER, KUBERNETES).splitlines()
    assert "require k8s.io/kubernetes v1.37.2" in lines
    assert "replace k8s.io/client-go => k8s.io/client-go v0.37.2" in lines
    assert "go 1.26.0" in lines


def test_replacements_of_a_module_are_repeated_with_those_it_forgot() -> None:
    lines = go_mod(GANG_SCHEDULER, SCHEDULER_PLUGINS).splitlines()
    assert "replace k8s.io/kubernetes => k8s.io/kubernetes v1.35.4" in lines
    assert "replace k8s.io/externaljwt => k8s.io/externaljwt v0.35.4" in lines


def test_another_version_or_another_recipe_is_another_entry_of_the_cache() -> None:
    keys = {
        Program("x", "example.org/x", "v1", "example.org/x").key,
        Program("x", "example.org/x", "v2", "example.org/x").key,
        Program("x", "example.org/x", "v1", "example.org/x/cmd").key,
        Program("x", "example.org/x", "v1", "example.org/x", manifests=("a/*.yaml",)).key,
    }
    assert len(keys) == 4
