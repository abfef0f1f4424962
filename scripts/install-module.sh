#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs chario.ko for the kernel it was built for: that of KDIR, or the
# running one; below DESTDIR if that is set.

set -eu

cd "$(dirname "$0")/.."
headers=${KDIR:-${KERNEL_SRC:-/lib/modules/$(uname -r)/build}}
# kernel.release in Debian 12's headers is another name than that of the kernel.
release=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$headers/include/generated/utsrelease.h")

# Debian's headers ask for signatures and have no key to sign with.
key=$(sed -n 's/^CONFIG_MODULE_SIG_KEY="\(.*\)"$/\1/p' "$headers/.config")
case $key in
pkcs11:* | /*) sign= ;;
*) if [ -e "$headers/$key" ]; then sign=; else sign=CONFIG_MODULE_SIG_ALL=; fi ;;
esac

make --no-print-directory -C kernel modules_install INSTALL_MOD_PATH="${DESTDIR-}" $sign

# Into a package's root, listing is for the machine on which that is installed.
[ -z "${DESTDIR-}" ] || exit 0
# Kbuild has just said that it skips this, for want of a file that headers do not have.
echo "depmod $release"
depmod "$release"
[ "$release" = "$(uname -r)" ] ||
	echo "chario.ko is installed for Linux $release; this machine runs $(uname -r)."
