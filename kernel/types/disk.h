/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk: the object behind /dev/chardiskN.
 *
 * A back end fills in a chario_disk and registers it.  From then on references
 * are counted: open files and sysfs hold references, and the last one to go calls
 * @backend->release(), so that the memory of the queues outlives the drive.  After
 * chario_disk_unregister() no call reaches the back end any more: calls on open
 * files return ENODEV.
 */
#ifndef CHARIO_TYPES_DISK_H
#define CHARIO_TYPES_DISK_H

#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/semaphore.h>
#include <linux/workqueue.h>

#include <chario/uapi.h>

#include "types/drive.h"
#include "types/node.h"
#include "types/split.h"

struct chario_backend;
struct chario_cmb;
struct gendisk;

/**
 * struct chario_counters - counters per CPU, so that no two CPUs share a line
 * @commands: device commands that have been handed to the queue
 * @bytes: bytes that calls have delivered
 * @errors: device commands that ended with an error status
 * @timeouts: requests whose caller was told, or that recovery was to take back, because
 *	they had passed their deadline; and waits without a request that have passed it,
 *	although the call may return what it has moved before
 * @interrupted: requests whose caller was killed
 */
struct chario_counters {
	u64 commands[CHARIO_NR_OPS];
	u64 bytes[CHARIO_NR_OPS];
	u64 errors;
	u64 timeouts;
	u64 interrupted;
};

/**
 * struct chario_limits - all that the core has to know of a device, from its back end
 * @block_bytes: logical block in bytes, a power of two
 * @grain_bytes: unit in which the device reads and writes, a power of two up to
 *	@block_bytes: calls of whole units need no change of a block in part
 * @command_bytes: largest command that drive and queues allow, bytes
 * @command_limit: &enum chario_command_limit, the source of @command_bytes
 * @boundary_bytes: see &struct chario_info, 0 for none
 * @dma_alignment: alignment in bytes of memory that a command moves; a power of two up
 *	to @grain_bytes
 * @seam_alignment: alignment in bytes of addresses at which a segment of a command ends
 *	and the next one begins; a power of two up to the page size, 1 for any
 * @segments: largest number of segments of a command, at least the number of pages that
 *	@command_bytes can touch; 0 for no limit
 * @segment_bytes: largest length of a segment in bytes, a multiple of the page size; 0
 *	for no limit
 * @discard_ranges: largest number of ranges of a discard; 0 if the device discards none
 * @discard_bytes: largest number of bytes of a discard; 0 for no limit
 * @zeroes_bytes: largest length in bytes that one command zeroes; 0 if the device has no
 *	such command
 * @zeroes_may_discard: true if that command may discard the blocks, which read as zeros
 *	then, too
 * @features: bits CHARIO_FEATURE_FUA, CHARIO_FEATURE_WRITE_CACHE (which requires FUA)
 *	and CHARIO_FEATURE_READ_ONLY, as they apply
 */
struct chario_limits {
	u32 block_bytes;
	u32 grain_bytes;
	u32 command_bytes;
	u32 command_limit;
	u32 boundary_bytes;
	u32 dma_alignment;
	u32 seam_alignment;
	u32 segments;
	u32 segment_bytes;
	u32 discard_ranges;
	u64 discard_bytes;
	u32 zeroes_bytes;
	bool zeroes_may_discard;
	u64 features;
};

/**
 * struct chario_disk - a disk
 * @irq_queue: for each possible CPU, its queue that completes by interrupt
 * @poll_queue: for each possible CPU, its queue for polling; @irq_queue if there are
 *	none
 * @split: limits by which calls are split; single words, written by sysfs
 * @single_bytes: longest call, in bytes, that is one command at any offset; 0 for
 *	none.  Follows from @split
 * @grain_mask: unit of offsets and lengths in bytes - 1
 * @block_mask: logical block size in bytes - 1
 * @block_shift: base-2 logarithm of the logical block size
 * @dma_mask: DMA alignment in bytes - 1
 * @seam_mask: alignment of seams between segments in bytes - 1
 * @max_segments: largest number of segments of a command
 * @segment_bytes: largest length of a segment in bytes; 0 for no limit
 * @capacity_bytes: size of the disk in bytes
 * @features: CHARIO_FEATURE_*
 * @medium: medium that the disk stands for, see queue/medium.h
 * @obstacles: number of reasons to check each command before a live queue takes it:
 *	files that may change blocks of the medium in part, @removed, @block_ends_reads,
 *	and a back end that submits; read under the lock of a queue
 * @counters: counters per CPU
 * @deadline: default deadline, jiffies
 * @deadline_ms: default deadline as it was set, milliseconds
 * @recovery_age: least time that the drive has a request before recovery begins,
 *	jiffies
 * @recovery_age_ms: the least time as it was set, milliseconds
 * @completion: default &enum chario_completion
 * @spin_ns: default time of CHARIO_COMPLETION_SPIN, nanoseconds
 * @any_size: true if files that are opened from now on take calls of any size
 * @removed: true if the drive or the content that the disk stands for has gone
 * @control: CHARIO_CONTROL_* bits of all reads and writes; set by the back end
 * @last_error: -errno of the last failed command, 0 for none
 * @buffer_lock: lock that protects @buffers and their mappings
 * @buffers: all buffers of all open files
 * @cmb: controller memory of the drive, or NULL
 * @dev: device in class chario
 * @node: node of the whole disk
 * @node_lock: lock that protects @nodes, what they count and claim, and @claims
 * @files_lock: lock that protects the number of files of @nodes, and whether these leave; inside
 *	@node_lock
 * @entry_turn: taken by who opens a node whose claim a worker takes, and given back by the
 *	worker, see front/node.c; outside @node_lock
 * @nodes: all nodes of the disk
 * @index: the number N
 * @backend: back end that serves the disk
 * @drive: parts that it shares with the other disks of its device
 * @max_command_bytes: upper limit of split.command_bytes
 * @command_limit: &enum chario_command_limit, the source of @max_command_bytes
 * @max_mapping_bytes: largest mapping of the DMA layer in one piece, bytes
 * @physical_block_bytes: see &struct chario_info
 * @write_alignment_bytes: see &struct chario_info
 * @deallocate_alignment_bytes: see &struct chario_info
 * @optimal_write_bytes: see &struct chario_info
 * @atomic_write_bytes: promise of the drive for one command, see &struct chario_info
 * @discard_ranges: see &struct chario_limits
 * @discard_bytes: see &struct chario_limits
 * @zeroes_bytes: see &struct chario_limits
 * @zeroes_may_discard: see &struct chario_limits
 * @claims: claims of nodes that are open for writing, see front/block/claim.c; changed
 *	under @node_lock, read under RCU
 * @claims_work: work by which @claims hold partitions that are made later; it has a
 *	reference to the disk while it is queued
 * @block: the block disk, or NULL; set under drive->block_lock, and read under
 *	@node_lock by those who have found @block_leaves false
 * @block_retries: number of changes by @block that are tried again after recovery
 * @block_node: entry of the list of the block disks of @drive
 * @block_comes: true while @block is being made, and its partitions are read
 * @block_leaves: true if the block disk is being taken away, and not to be opened
 * @block_ends_reads: true if @drive leaves, and a read of @block, which no file system uses, has
 *	failed after its last try: further ones end at once; see front/block/request.c
 * @wants_block: true if the back end is to make @block; it tries again after a reset
 * @namespace_id: see &struct chario_info
 * @medium_node: entry of the list of the disks of @medium
 * @is_shared: true if other disks may stand for the same medium
 * @wwid: identifier in the form of Linux's NVMe driver; "" for none
 * @serial: see &struct chario_info
 * @model: see &struct chario_info
 * @firmware: see &struct chario_info
 */
struct chario_disk {
	struct chario_queue **irq_queue;
	struct chario_queue **poll_queue;
	struct chario_split_limits split;
	u32 single_bytes;
	u32 grain_mask;
	u32 block_mask;
	u32 block_shift;
	u32 dma_mask;
	u32 seam_mask;
	u32 max_segments;
	u32 segment_bytes;
	u64 capacity_bytes;
	u64 features;
	struct chario_medium *medium;
	atomic_t obstacles;
	struct chario_counters __percpu *counters;
	unsigned long deadline;
	u32 deadline_ms;
	unsigned long recovery_age;
	u32 recovery_age_ms;
	u32 completion;
	u32 spin_ns;
	bool any_size;
	bool removed;
	u16 control;
	int last_error;
	struct mutex buffer_lock; /* buffers and their mappings */
	struct list_head buffers;
	struct chario_cmb *cmb;

	struct device dev;
	struct chario_node node;
	struct semaphore entry_turn;
	struct mutex node_lock; /* nodes, claims */
	spinlock_t files_lock;  /* files and leaves of the nodes */
	struct list_head nodes;
	int index;
	const struct chario_backend *backend;
	struct chario_drive *drive;
	u32 max_command_bytes;
	u32 command_limit;
	u32 max_mapping_bytes;
	u32 physical_block_bytes;
	u32 write_alignment_bytes;
	u32 deallocate_alignment_bytes;
	u32 optimal_write_bytes;
	u32 atomic_write_bytes;
	u32 discard_ranges;
	u64 discard_bytes;
	u32 zeroes_bytes;
	bool zeroes_may_discard;
	struct list_head claims;
	struct delayed_work claims_work;
	struct gendisk *block;
	bool block_comes;
	bool block_leaves;
	bool block_ends_reads;
	bool wants_block;
	atomic_t block_retries;
	struct list_head block_node;
	u32 namespace_id;
	struct list_head medium_node;
	bool is_shared;
	/* The longest is "nvme.", a vendor, serial and model in digits, and a number. */
	char wwid[144];
	char serial[24];
	char model[48];
	char firmware[16];
};

/* Read the current limits by which calls are split. */
static inline void chario_disk_get_split(const struct chario_disk *disk,
					 struct chario_split_limits *limits)
{
	limits->command_bytes = READ_ONCE(disk->split.command_bytes);
	limits->chunk_bytes = READ_ONCE(disk->split.chunk_bytes);
	limits->boundary_bytes = disk->split.boundary_bytes;
}

#define to_chario_disk(d) container_of(d, struct chario_disk, dev)

/* Limits of the values that users may set. */
#define CHARIO_DEADLINE_MIN_NS	NSEC_PER_MSEC
#define CHARIO_DEADLINE_MAX_NS	(3600ULL * NSEC_PER_SEC)
#define CHARIO_SPIN_MAX_NS	NSEC_PER_SEC

/* Number of CHARIO_PIN_* bits. */
#define CHARIO_NR_PINS		7

/*
 * Counts a call that gives up before the device has its request: one that the device has is
 * counted by drive/watch.c.  Takes and returns the result of a wait.
 */
static inline int chario_disk_count_timeout(const struct chario_disk *disk, int ret)
{
	if (ret == -ETIMEDOUT)
		this_cpu_inc(disk->counters->timeouts);
	return ret;
}

#endif /* CHARIO_TYPES_DISK_H */
