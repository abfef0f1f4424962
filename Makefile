# SPDX-License-Identifier: MIT
# The front door.  `make help` says what there is.

PREFIX ?= /usr/local
BUILD ?= build
KERNELS ?= 6.1 6.12 6.12-rt

setup := scripts/setup.sh
lab = "$$($(setup))"/bin/python -m chario_lab.main

.PHONY: all help setup module user install demo guest check check-static \
	check-unit check-guest check-debug bench clean

all: module user

help:
	@echo 'On this machine'
	@echo '  make              build the module for the running kernel, the library, the program'
	@echo '  make install      install them, with manual pages and the udev rule (root)'
	@echo 'In a guest, with an emulated NVMe SSD; nothing of this machine is touched'
	@echo '  make demo         the main job, and what it costs beside the block device and ext4'
	@echo '  make guest        a shell in a guest, with a drive to try things on'
	@echo '  make check        static checks and all tests (KERNELS="$(KERNELS)")'
	@echo '  make check-debug  the guest tests on a kernel with KASAN, lockdep and more'
	@echo '  make bench        instructions per call, counted, beside the paths of Linux'
	@echo 'Downloads and built kernels are kept in $${CHARIO_CACHE:-~/.cache/chario}.'

setup:
	@$(setup) >/dev/null

module:
	$(MAKE) -C kernel

user: setup
	@test -e $(BUILD)/build.ninja || meson setup --prefix=$(PREFIX) $(BUILD)
	@meson compile -C $(BUILD)

install: all
	$(MAKE) -C kernel modules_install
	depmod
	meson install -C $(BUILD)
	install -D -m 644 packaging/sysusers/chario.conf $(DESTDIR)/usr/lib/sysusers.d/chario.conf
	install -D -m 644 packaging/udev/60-chario.rules $(DESTDIR)/usr/lib/udev/rules.d/60-chario.rules
	ldconfig
	@scripts/after-install.sh

demo: setup
	@$(lab) demo

guest: setup
	@$(lab) guest

bench: setup
	@$(lab) bench

check: check-static check-unit check-guest

check-static: setup
	@scripts/check.sh

check-unit: user
	@meson test -C $(BUILD) --print-errorlogs
	@"$$($(setup))"/bin/pytest -q tests/lab

check-guest: setup
	@scripts/test-guests.sh $(KERNELS)

check-debug: setup
	@scripts/test-guests.sh debug

clean:
	rm -rf $(BUILD)
	find kernel \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' \
		-o -name '.*.cmd' -o -name modules.order -o -name Module.symvers \) -delete
