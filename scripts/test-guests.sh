#!/bin/sh
# SPDX-License-Identifier: MIT
# The guest tests on each kernel that is named.  The first one gets all of
# them; the others get those whose outcome depends on the kernel: data,
# dma-bufs, what tracks changes of memory, mappings, the errors of calls, but
# not what the kernels for real time and debugging, which are of the same
# release, run as well, io_uring above all; one for real time those that depend
# on who preempts whom.
# The debug kernel, which is several times slower, gets those that its checkers
# look at: what is allocated, mapped, freed and raced for, and what happens when
# any of that fails.  With --all each kernel gets all of them, which takes hours.
#     scripts/test-guests.sh [--all] KERNEL...
# Two files run side by side: a guest keeps one processor busy at most.
# A kernel whose tests did not run has failed.

all=
if [ "$1" = --all ]; then
	all=yes
	shift
fi
if [ $# = 0 ]; then
	echo 'no kernel to test: make check-guest KERNELS="6.1 6.12 6.12-rt" names some' >&2
	exit 1
fi
cd "$(dirname "$0")/.." || exit 1
venv=$(scripts/setup.sh) || exit 1
first=$1
failed=

every_kernel="
tests/guest/test_buffers.py
tests/guest/test_data_exercise.py
tests/guest/test_dmabuf.py
tests/guest/test_iommu.py
tests/guest/test_view.py
tests/guest/test_ways.py
tests/guest/test_zero_copy.py
"
real_time="
tests/guest/test_any_size.py
tests/guest/test_iouring.py
tests/guest/test_private_queue.py
tests/guest/test_removal.py
"
checked="
tests/guest/test_debug_kernel.py
tests/guest/test_failnth.py
tests/guest/test_attacker.py
tests/guest/test_recovery.py
tests/guest/test_fault_hang.py
tests/guest/test_removal.py
tests/guest/test_probe.py
tests/guest/test_iouring.py
tests/guest/test_hotpath.py
tests/guest/test_any_size.py
tests/guest/test_buffers.py
tests/guest/test_private_queue.py
tests/guest/test_window_tree.py
tests/guest/test_fuzz.py
"

for kernel in "$@"; do
	case ${all:-$kernel} in
	yes) tests=tests/guest ;;
	debug) tests=$checked ;;
	"$first") tests=tests/guest ;;
	*-rt) tests=$real_time ;;
	*) tests=$every_kernel ;;
	esac
	echo "== guest tests, kernel $kernel"
	# shellcheck disable=SC2086 # a list
	"$venv/bin/pytest" -q -n 2 --dist loadfile --no-loadscope-reorder --rerun-show-tracebacks $tests \
		--kernel="$kernel" || failed="$failed $kernel"
done
[ -z "$failed" ] && exit 0
echo "guest tests failed on kernel$failed" >&2
exit 1
