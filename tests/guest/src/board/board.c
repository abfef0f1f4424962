// SPDX-License-Identifier: MIT
/*
 * The device tree of a board, hung below the empty root that a PC has:
 *
 *	/reserved-memory
 *		sensor	ours, two ranges
 *		ram	ours, but Linux has it
 *		other	somebody else's
 *		off	ours, but not available
 *
 * The nodes are made by hand: kernels for PCs take no tree from their loader.
 */
#include <linux/module.h>
#include <linux/of.h>

#define HIDDEN 0x30000000
#define MIB    0x100000

static __be32 two[] = { cpu_to_be32(2) };

/* Empty, but there. */
static struct property ranges = { .name = "ranges", .value = two };
static struct property size_cells = { .name = "#size-cells",
				      .length = sizeof(two),
				      .value = two,
				      .next = &ranges };
static struct property address_cells = { .name = "#address-cells",
					 .length = sizeof(two),
					 .value = two,
					 .next = &size_cells };
static struct device_node reserved = { .full_name = "reserved-memory",
				       .properties = &address_cells };

/* A node of ours or of another, with a status or without. */
#define COMPATIBLE(node, text, after)                                                        \
	static struct property node##_compatible = {                                         \
		.name = "compatible", .length = sizeof(text), .value = text, .next = (after) \
	}
#define NODE(node, after, ...)                                        \
	static __be32 node##_cells[] = { __VA_ARGS__ };               \
	static struct property node##_reg = {                         \
		.name = "reg",                                        \
		.length = sizeof(node##_cells),                       \
		.value = node##_cells,                                \
		.next = &node##_compatible,                           \
	};                                                            \
	static struct device_node node = { .full_name = #node,        \
					   .properties = &node##_reg, \
					   .parent = &reserved,       \
					   .sibling = (after) }
#define RANGE(start, bytes) 0, cpu_to_be32(start), 0, cpu_to_be32(bytes)

static struct property disabled = { .name = "status",
				    .length = sizeof("disabled"),
				    .value = "disabled" };

COMPATIBLE(off, "chario,window", &disabled);
COMPATIBLE(other, "somebody,else", NULL);
COMPATIBLE(ram, "chario,window", NULL);
COMPATIBLE(sensor, "chario,window", NULL);
NODE(off, NULL, RANGE(HIDDEN + 11 * MIB, MIB));
NODE(other, &off, RANGE(HIDDEN + 10 * MIB, MIB));
NODE(ram, &other, RANGE(0x10000000, MIB));
NODE(sensor, &ram, RANGE(HIDDEN, 8 * MIB), RANGE(HIDDEN + 9 * MIB, MIB));

static int __init board_init(void)
{
	if (!of_root || of_root->child)
		return -EBUSY;
	reserved.parent = of_root;
	reserved.child = &sensor;
	of_root->child = &reserved;
	return 0;
}

static void __exit board_exit(void)
{
	of_root->child = NULL;
}

module_init(board_init);
module_exit(board_exit);
MODULE_DESCRIPTION("Device tree of a board, for tests");
MODULE_LICENSE("Dual MIT/GPL");
