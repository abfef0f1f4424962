# SPDX-License-Identifier: MIT
"""Programs of 32 bits on a kernel of 64: the contract and the buffers, by the tests that 64-bit programs pass."""

from functools import partial

import pytest
from disks import Programs
from programs import compile_program
from test_buffers import (  # noqa: F401 - collected here once more, with programs of 32 bits
    test_a_child_does_not_take_the_pages,
    test_commands_and_doorbells,
    test_end_of_the_disk,
    test_rights,
    test_what_a_buffer_writes_is_what_it_reads,
    test_what_is_refused,
)
from test_contract_errors import (  # noqa: F401
    test_the_end_of_the_disk,
    test_the_file_position,
    test_what_is_not_whole_blocks_is_refused,
)
from test_contract_ioctls import (  # noqa: F401
    test_block_ioctls,
    test_info_says_what_sysfs_says,
    test_sizes_of_what_is_given,
    test_sizes_of_what_is_taken,
)
from test_iouring import test_a_batch_rings_one_doorbell, test_depth_32_needs_no_worker  # noqa: F401
from test_pool import (  # noqa: F401
    test_mappings_in_parts_that_move,
    test_what_the_pool_writes_is_what_it_reads,
)

pytestmark = [
    pytest.mark.area("kernel/front/transfer", "kernel/front/ioctl", "kernel/memory/"), pytest.mark.stock,
    pytest.mark.slow,
]  # fmt: skip


@pytest.fixture(name="guest_program", scope="session")
def make_guest_program() -> Programs:
    """compile(NAME): a program of 32 bits."""
    return partial(compile_program, bits=32)
