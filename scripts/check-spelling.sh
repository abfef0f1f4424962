#!/bin/sh
# SPDX-License-Identifier: MIT
# Text and comments are free of common misspellings.

. "$(dirname "$0")/check-common.sh"

need codespell codespell

# Static functions are called so here; .Nd is a macro of manual pages; O_WRONLY;
# AER, the error reporting of PCI Express, which Debian 13's codespell takes for "are";
# iput(), by which Linux lets go of an inode; the file in sysfs that counts requests in flight.
words='statics,nd,wronly,aer,iput,inflight'

git ls-files | grep -v '^LICENSES/' | xargs -r codespell --ignore-words-list "$words"
