"""Packages that have nothing to do with torch."""

from __future__ import annotations

import pytest

from mpslint.facts.data import read_section
from mpslint.facts.priors import computes_on_host, understood
from mpslint.facts.without_torch import is_without_torch, reads_arrays


@pytest.mark.parametrize("name", ["astor", "OpenGL", "elasticsearch"])
def test_who_needs_no_arrays_is_given_no_tensors(name: str) -> None:
    assert understood(name)
    assert not computes_on_host(name)


def test_who_needs_numpy_may_read_a_tensor_as_an_array() -> None:
    assert reads_arrays("folium")
    assert computes_on_host("folium")


@pytest.mark.parametrize("name", ["kornia", "fastai", "cupy", "xgboost", "gluonts", "jax"])
def test_who_needs_torch_or_has_devices_of_its_own_is_not_among_them(name: str) -> None:
    assert not is_without_torch(name)


@pytest.mark.parametrize("name", ["config", "utils", "models", "training", "datasets"])
def test_a_name_that_projects_give_to_modules_of_their_own_says_nothing(name: str) -> None:
    assert not is_without_torch(name)


def test_the_list_says_when_it_was_made_and_names_each_once() -> None:
    told = read_section("without_torch.json", "packages")
    names = told["names"] + told["of_arrays"]
    assert told["date"]
    assert len(set(names)) == len(names) > 1000
