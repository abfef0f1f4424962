# SPDX-License-Identifier: MIT
# The front door.  `make help` says what there is.

BUILD ?= build
KERNELS ?= 6.1 6.12 6.12-rt debug
export KERNELS

# Make, Meson and Kbuild would look for a relative DESTDIR in different folders.
ifneq ($(DESTDIR),)
override DESTDIR := $(abspath $(DESTDIR))
export DESTDIR
endif

setup := scripts/setup.sh
python = "$$($(setup))"/bin/python
# A signal for make has to reach the lab, which ends what it has started: no shell stays between.
lab = exec $(python) -m chario_lab.main
# The same with the libraries that draw.
drawing_lab = exec "$$($(setup) --report)"/bin/python -m chario_lab.main

# The Python environment is shared by checkouts; each has its own lab.
export PYTHONPATH := $(CURDIR)/lab$(if $(PYTHONPATH),:$(PYTHONPATH))

# Who became root by su may lack these: depmod, ldconfig.
export PATH := $(PATH):/usr/sbin:/sbin

.PHONY: all help setup setup-build setup-report prefetch module user may-install install demo guest report \
	check check-quick check-all check-long check-static check-unit check-meson check-sanitize check-guest fuzz fuzz-library \
	fuzz-store fuzz-stream bench bench-store recorders coverage coverage-module mutants sweep clean

all: module user

help:
	@echo 'On this machine'
	@echo '  make              build the module for the running kernel, the library, the program'
	@echo '  make install      install them, with manual pages and the udev rule (root);'
	@echo '                    PREFIX=/usr/local and DESTDIR= say where'
	@echo 'In a guest, with an emulated NVMe SSD; no drive of this machine is touched'
	@echo '  make demo         the main job, and what it costs beside the block device and ext4'
	@echo '  make guest        a shell in a guest, with a drive to try things on'
	@echo '  make check-quick  ten minutes of make check: static checks, unit tests, on Linux 6.1 smoke tests and'
	@echo '                    the tests of what has changed since the upstream branch, or since BASE='
	@echo '  make check        what a change has to pass: every guest test of the product on 6.1, smoke tests and'
	@echo '                    what has changed on the other kernels (KERNELS="$(KERNELS)")'
	@echo '  make check-all    every test on every kernel that its file names; about two hours'
	@echo '  make check-long   what takes hours: fuzzers, every file on every kernel, many crashes'
	@echo '  make check-guest  the guest tests of make check-all alone'
	@echo '  make fuzz         a million random commands on the debug kernel; FUZZ_COMMANDS=N says'
	@echo '                    how many, FUZZ_SEED=N repeats a run'
	@echo '  make bench        instructions per call, counted, beside the paths of Linux, on 6.1 and 6.12;'
	@echo '                    IOMMU=1 counts some once more behind an IOMMU, strict and lazy'
	@echo '  make recorders    what a recording costs: the store, dd, GStreamer; whole programs'
	@echo '  make report       run every experiment, and make one page of what came of it, beside the papers'"'"''
	@echo '                    own figures; SHORT=1 shows in minutes that it works'
	@echo '  make prefetch     download all that tests need, so that they need no network;'
	@echo '                    DEBUG=1 builds the debug kernel too'
	@echo '  make coverage-module  lines and branches of the module that the guest tests run;'
	@echo '                    FILES="tests/guest/FOLDER/test_X.py ..." runs some of them'
	@echo '  make mutants      plant mistakes, one at a time; the test of each has to fail;'
	@echo '                    MUTANTS=pattern chooses by name, file or test'
	@echo 'On this machine, for changes of the library'
	@echo '  make check-unit   unit tests and other tests without a guest, also with sanitizers'
	@echo '  make coverage     lines and branches of the library that the unit tests run, and floors'
	@echo '  make sweep        remove each flush, each checked result and each bound of lib/src/store and'
	@echo '                    lib/src/stream, one at a time; a unit test has to fail for each, or'
	@echo '                    tests/mutants/equivalent.toml says why none can; MUTANTS=pattern chooses'
	@echo '  make bench-store  what a store costs at 10 to 100,000 areas'
	@echo '  make fuzz-library disks and recordings with anything on them, one after the other;'
	@echo '                    FUZZ_SECONDS=N says for how long each'
	@echo '  make fuzz-store   the disks alone; make fuzz-stream the recordings'
	@echo 'Downloads and built kernels are kept in $${CHARIO_CACHE:-~/.cache/chario}.'

setup:
	@$(setup) >/dev/null

setup-build:
	@$(setup) --build

# An environment of its own: who asks for no report does not wait for it.
setup-report: setup
	@$(setup) --report >/dev/null

prefetch: setup-report
	@$(python) -m chario_lab.prefetch $(if $(DEBUG),--debug)

module: setup-build
	$(MAKE) -C kernel

# Meson knows Debian's folder of libraries only where dpkg-dev is installed.
# A folder that has been set up keeps its prefix until another one is given.
user: setup-build
	@mkdir -p $(BUILD) && test -w $(BUILD) || { \
		echo 'the folder $(BUILD) cannot be written to: give BUILD=..., one that can' >&2; \
		exit 1; }
	@test -e $(BUILD)/build.ninja || \
		meson setup --prefix=$(or $(PREFIX),/usr/local) --libdir=lib/$$(gcc -print-multiarch) $(BUILD)
	@test -z "$(PREFIX)" || \
		grep -qF '"name": "prefix", "value": "$(PREFIX)"' $(BUILD)/meson-info/intro-buildoptions.json || \
		meson configure -Dprefix=$(PREFIX) $(BUILD)
	@ninja -C $(BUILD)

may-install:
	@test -n "$(DESTDIR)" || test "$$(id -u)" = 0 || { \
		echo 'make install needs root: run sudo make install, or give DESTDIR=...' >&2; \
		exit 1; }

install: may-install all
	scripts/install-module.sh
	meson install -C $(BUILD)
	install -D -m 644 packaging/sysusers/chario.conf $(DESTDIR)/usr/lib/sysusers.d/chario.conf
	install -D -m 644 packaging/udev/60-chario.rules $(DESTDIR)/usr/lib/udev/rules.d/60-chario.rules
	install -D packaging/initramfs/hook $(DESTDIR)/usr/share/initramfs-tools/hooks/chario
	install -D packaging/initramfs/init-top $(DESTDIR)/usr/share/initramfs-tools/scripts/init-top/chario
	@scripts/after-install.sh

demo: setup
	@$(lab) demo

guest: setup
	@$(lab) guest

bench: setup
	@$(lab) bench $(if $(IOMMU),--iommu)

recorders: setup
	@$(lab) recorders

report: setup-report
	@$(drawing_lab) report --run $(if $(SHORT),--short)

mutants: setup
	@$(lab) mutants "$$MUTANTS"

# Hours: MUTANTS='*: flush: *' has those of a kind, MUTANTS='lib/src/store/note.c:*' those of a file.
sweep: setup
	@$(lab) sweep "$$MUTANTS"

bench-store: user
	@$(BUILD)/tests/unit/store-costs

check check-quick check-all check-long: setup
	@$(lab) check $(@:check-%=%) --build '$(BUILD)' --kernels "$$KERNELS" --base="$$BASE"

check-guest: setup
	@$(lab) check guests --build '$(BUILD)' --kernels "$$KERNELS"

check-static: setup
	@scripts/check.sh

# Set up again a build folder from before scripts/setup.sh had installed the 32-bit compiler.
check-meson: setup user
	@test -e $(BUILD)/tests/abi/test-layout-32 || \
		{ meson setup --wipe $(BUILD) && ninja -C $(BUILD); }
	@meson test -C $(BUILD) --print-errorlogs --timeout-multiplier 5

check-unit: check-meson check-sanitize
	@CHARIO_BUILD='$(abspath $(BUILD))' "$$($(setup))"/bin/pytest -q -n 2 tests/lab tests/python tests/gst tests/format

check-sanitize: setup
	@scripts/test-sanitized.sh $(BUILD)

fuzz-library fuzz-store fuzz-stream: export FUZZ_SECONDS ?= 600
fuzz-library: setup
	@scripts/fuzz-library.sh "$$FUZZ_SECONDS" $(BUILD)-fuzz

fuzz-store fuzz-stream: fuzz-%: setup
	@scripts/fuzz-library.sh "$$FUZZ_SECONDS" $(BUILD)-fuzz $*

coverage: setup
	@scripts/coverage.sh $(BUILD)-coverage

# What FILES= names is looked for before anything is built.
coverage-module: setup
	@scripts/coverage-module.sh --check $$FILES
	@$(MAKE) --no-print-directory user
	@CHARIO_BUILD='$(abspath $(BUILD))' scripts/coverage-module.sh $$FILES

# Half an hour on two idle processors.
fuzz: export FUZZ_COMMANDS ?= 1000000
fuzz: setup
	@"$$($(setup))"/bin/pytest -q -s tests/guest/calls/test_fuzz.py --kernel=debug

clean:
	rm -rf $(BUILD) $(BUILD)-address $(BUILD)-thread $(BUILD)-fuzz $(BUILD)-coverage results/coverage-module
	find kernel \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' \
		-o -name '.*.cmd' -o -name modules.order -o -name Module.symvers \) -delete
