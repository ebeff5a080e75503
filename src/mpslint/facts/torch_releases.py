"""Releases of torch: the first ones with what code or its fixes need, and those that other packages
are built for.

Fact: torch's release notes; of the packages, the tables of versions in the READMEs of
pytorch/vision and pytorch/audio.
"""

from __future__ import annotations

Release = tuple[int, int]

FIRST_WITH_DEVICES: Release = (0, 4)
"""The first torch with `torch.device`, `.to()` and strings that name a device."""
LAST_FOR_PYTHON_2: Release = (1, 4)
"""The last torch that was built for Python 2."""
FIRST_WITH_MPS: Release = (1, 12)
"""The first torch with MPS. Who brings a project there that asks for an older one takes a newer."""
FIRST_AUTOCAST_ON_MPS: Release = (2, 5)
"""The first torch whose autocast takes MPS; between the first with MPS and this one it raises."""
FIRST_WITH_DEFAULT_DEVICE: Release = (2, 0)
"""The first torch with `torch.set_default_device`."""
FIRST_WITH_CACHE_OF_MPS: Release = (2, 0)
"""The first torch with `torch.mps.empty_cache`."""
_OLDEST = {"torchvision": 5, "torchaudio": 7}
"""The first release `0.x` of a package that is for one torch alone, as all later ones are."""
_VISION_OF_2_0 = 15


def torch_for(package: str, release: Release) -> Release | None:
    """The torch that a release of torchvision or torchaudio is built for (that of `torch` is one
    itself); None: it is too old for one to be known."""
    major, minor = release
    if package == "torch" or (package == "torchaudio" and major >= 2):
        return release
    if major or minor < _OLDEST[package]:
        return None
    if package == "torchaudio":
        return 1, minor
    return (2, minor - _VISION_OF_2_0) if minor >= _VISION_OF_2_0 else (1, minor - 1)
