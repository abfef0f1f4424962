# SPDX-License-Identifier: MIT
"""Which kernels the lab takes, and how it builds the module for them."""

from dataclasses import replace
from pathlib import Path

import pytest

from chario_lab import kernel
from chario_lab.kernel import SERIES, Kernel, KernelError, newest
from chario_lab.kernel_build import RECIPES, Recipe, parse_config, refused_options


def packages(kind: str, *releases: str) -> list[str]:
    """Names as the archive lists them."""
    return [f"linux-{kind}-{release}" for release in releases]


def test_newest_has_image_and_headers() -> None:
    """A release is taken only if it has both, and -56 counts as newer than -9."""
    images = packages("image", "6.1.0-9-amd64", "6.1.0-56-amd64", "6.1.0-57-amd64", "6.1.0-58-rt-amd64")
    headers = packages("headers", "6.1.0-9-amd64", "6.1.0-56-amd64", "6.1.0-58-rt-amd64", "6.1.0-56-common")
    assert newest(SERIES["6.1"], images, headers) == "6.1.0-56-amd64"
    assert newest(SERIES["6.1"], images, packages("headers", "6.1.0-1-amd64")) is None


def test_flavours_are_kept_apart() -> None:
    """The PREEMPT_RT series takes rt images only; clouds, debug symbols and 6.1 are nobody's."""
    releases = (
        "6.12.117+deb12-amd64",
        "6.12.95+deb12-rt-amd64",
        "6.12.90+deb12.1-rt-amd64",
        "6.12.118+deb12-cloud-amd64",
        "6.12.118+deb12-amd64-dbg",
        "6.1.0-56-amd64",
    )
    images, headers = packages("image", *releases), packages("headers", *releases)
    assert newest(SERIES["6.12"], images, headers) == "6.12.117+deb12-amd64"
    assert newest(SERIES["6.12-rt"], images, headers) == "6.12.95+deb12-rt-amd64"


def test_unknown_name_is_explained() -> None:
    """A wrong name is answered with the right ones."""
    with pytest.raises(KernelError, match=r"no kernel is called '5\.10'.*6\.12-rt.*debug"):
        kernel.get_kernel("5.10")


def test_record_survives_only_with_its_kernel(tmp_path: Path) -> None:
    """A remembered kernel is used while it exists, and looked for again when it is gone."""
    (tmp_path / "vmlinuz").touch()
    (tmp_path / "build").mkdir()
    made = Kernel("6.1", "6.1.0-56-amd64", tmp_path / "vmlinuz", tmp_path / "modules", tmp_path / "build", False)
    record = tmp_path / "6.1.json"
    kernel.write_record(record, made)
    assert kernel.read_record(record) == made
    (tmp_path / "vmlinuz").unlink()
    assert kernel.read_record(record) is None
    record.write_text("{")
    assert kernel.read_record(record) is None


def test_header_makefiles_are_moved(tmp_path: Path) -> None:
    """What names /usr/src in a header package's makefile names the cache afterwards."""
    makefile = tmp_path / "linux-headers-6.1.0-56-amd64/Makefile"
    makefile.parent.mkdir()
    makefile.write_text("include /usr/src/linux-headers-6.1.0-56-common/Makefile\nall:\n\techo /usr/src/\n")
    kernel.relocate(tmp_path, Path("/cache/k/usr/src"))
    expected = "include /cache/k/usr/src/linux-headers-6.1.0-56-common/Makefile\nall:\n\techo /usr/src/\n"
    assert makefile.read_text() == expected


@pytest.fixture
def built_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Kernel, Path]:
    """A kernel whose makefile records that it ran, and a module's folder."""
    monkeypatch.setenv("CHARIO_CACHE", str(tmp_path / "cache"))
    build = tmp_path / "build"
    build.mkdir()
    (build / "Makefile").write_text(
        f"modules:\n\t@echo ran >> {tmp_path}/runs\n\t@grep -q good $(M)/main.c\n\t@cp $(M)/main.c $(M)/chario.ko\n"
    )
    source = tmp_path / "source"
    source.mkdir()
    (source / "Kbuild").touch()
    (source / "main.c").write_text("good\n")
    return Kernel("6.1", "6.1.0-56-amd64", tmp_path / "v", tmp_path / "m", build, False), source


def test_module_is_built_once_for_a_source(built_with: tuple[Kernel, Path], tmp_path: Path) -> None:
    """The same source is not built again; remains of a build in place do not count, a changed file does."""
    target, source = built_with
    first = kernel.build_module(target, source)
    (source / "main.o").write_text("object")
    (source / "chario.mod.c").write_text("generated")
    assert kernel.build_module(target, source) == first
    (source / "main.c").write_text("good again\n")
    assert kernel.build_module(target, source) != first
    assert (tmp_path / "runs").read_text().split() == ["ran", "ran"]
    assert not (source / "chario.ko").exists()


def test_failed_build_is_one_message(built_with: tuple[Kernel, Path]) -> None:
    """A source that does not build gives an error with the release, and nothing in the cache."""
    target, source = built_with
    (source / "main.c").write_text("bad\n")
    for _ in range(2):
        with pytest.raises(KernelError, match=r"does not build for 6\.1\.0-56-amd64"):
            kernel.build_module(target, source)


def test_what_was_found_stays_with_the_build(built_with: tuple[Kernel, Path], tmp_path: Path) -> None:
    """Warnings of the first build are told whenever it is used; told again, it is built again."""
    target, source = built_with
    makefile = target.build / "Makefile"
    makefile.write_text(makefile.read_text() + "\t@echo $(M)/main.c:1: warning: odd >&2\n\t@echo LD\n")
    module = kernel.build_module(target, source)
    assert kernel.findings(module) == kernel.findings(kernel.build_module(target, source))
    assert kernel.findings(module) == f"{source.name}/main.c:1: warning: odd\n"
    kernel.build_module(target, source, again=True)
    assert (tmp_path / "runs").read_text().split() == ["ran", "ran"]


def test_folder_without_module_is_refused(built_with: tuple[Kernel, Path], tmp_path: Path) -> None:
    """A wrong folder is answered before anything is built."""
    with pytest.raises(KernelError, match="no Kbuild file"):
        kernel.build_module(built_with[0], tmp_path)


def test_refused_options_are_found() -> None:
    """An option that is missing, has another value, or is on although it should not be, is named."""
    wanted = parse_config("# comment\nCONFIG_A=y\nCONFIG_B=n\nCONFIG_C=y\nCONFIG_D=17\nCONFIG_E=n\n")
    got = parse_config("CONFIG_A=y\n# CONFIG_C is not set\nCONFIG_D=16\nCONFIG_E=y\n")
    assert refused_options(wanted, got) == ["CONFIG_C=y", "CONFIG_D=17", "CONFIG_E=n"]


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_fragments_do_not_contradict(recipe: Recipe) -> None:
    """A kernel's fragments ask for no option twice.

    But for the end of its release, which tells it from the others, and for sleep, which one of them knows.
    """
    texts = [path.read_text() for path in recipe.fragments]
    names = [line.partition("=")[0] for text in texts for line in text.splitlines() if line.startswith("CONFIG_")]
    assert {name for name in names if names.count(name) > 1} <= {"CONFIG_LOCALVERSION", "CONFIG_SUSPEND"}


def test_only_the_counting_kernel_gets_a_module_that_counts(built_with: tuple[Kernel, Path]) -> None:
    """make is told to profile for "gcov", with notes about where the sources will be, and for no other kernel."""
    target, source = built_with
    makefile = target.build / "Makefile"
    makefile.write_text(makefile.read_text() + "\t@echo '$(GCOV_PROFILE) $(KCFLAGS)' > $(M)/options\n")
    options = kernel.build_module(target, source).parent / "options"
    assert options.read_text() == " \n"
    counting = replace(target, name="gcov", release="6.12.1-chario-gcov")
    folder = kernel.build_module(counting, source).parent
    assert (folder / "options").read_text() == f"y -fprofile-prefix-map={folder.parent}/.{folder.name}={folder}\n"
