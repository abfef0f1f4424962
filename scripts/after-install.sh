#!/bin/sh
# SPDX-License-Identifier: MIT
# Tells the running system of an installation.  Does nothing for an installation
# into a package's root (DESTDIR).

[ -n "$DESTDIR" ] && exit 0
ldconfig
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers /usr/lib/sysusers.d/chario.conf
else
	getent group chardisk >/dev/null || groupadd --system chardisk
fi
if command -v udevadm >/dev/null; then
	udevadm control --reload 2>/dev/null || true
fi
if grep -qF -e '[integrity]' -e '[confidentiality]' /sys/kernel/security/lockdown 2>/dev/null; then
	echo "This kernel is locked down (Secure Boot): sign chario.ko with a key that it trusts, or it is not loaded."
fi
loaded=$(cat /sys/module/chario/srcversion 2>/dev/null || true)
if [ -n "$loaded" ] && [ "$loaded" != "$(modinfo -F srcversion chario 2>/dev/null)" ]; then
	echo "Another chario.ko is loaded and goes on running.  For the new one, when nobody uses the disks:"
	echo "chario unbind each drive (chario list names them), modprobe -r chario, chario bind each again (with --keep where it was kept); or restart."
fi
cat <<TEXT
Installed.  Next: chario list --all, then chario bind ADDRESS (it says what it does and how to undo it).
Members of the group chardisk may use the disks: adduser USER chardisk
TEXT
