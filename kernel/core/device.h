/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk: what /dev/chardiskN stands for.
 *
 * A back end fills in a chario_device and registers it.  From then on it is
 * counted: open files and sysfs hold references, and the last one to go calls
 * @backend->release(), so that what a queue needs outlives the drive.  After
 * chario_device_unregister() no call reaches the back end any more: open files
 * are harmless and answer ENODEV.
 */
#ifndef CHARIO_CORE_DEVICE_H
#define CHARIO_CORE_DEVICE_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>

#include <chario/uapi.h>

#include "chario.h"
#include "core/drive.h"
#include "core/split.h"

struct chario_backend;
struct chario_cmb;

/**
 * struct chario_counters - counted per CPU, so that no two CPUs share a line
 * @commands: device commands that have been handed to the queue
 * @bytes: bytes that calls have delivered
 * @errors: device commands that ended with an error status
 * @timeouts: requests that passed their deadline
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
 * struct chario_limits - what the core must know of a device, told by its back end
 * @block_bytes: logical block, a power of two
 * @command_bytes: largest command that drive and queues allow
 * @command_limit: &enum chario_command_limit, what @command_bytes comes from
 * @boundary_bytes: see &struct chario_info, 0 for none
 * @dma_alignment: memory that a command moves begins at a multiple of so many bytes;
 *	a power of two
 */
struct chario_limits {
	u32 block_bytes;
	u32 command_bytes;
	u32 command_limit;
	u32 boundary_bytes;
	u32 dma_alignment;
};

/**
 * struct chario_device - a disk
 * @irq_queue: queue for each possible CPU that completes by interrupt
 * @poll_queue: the same for polling; the irq queues where there are none
 * @limits: how calls are split; single words, written by sysfs
 * @single_bytes: a call up to this long is one command wherever it lies; 0 for
 *	none.  Follows from @limits
 * @block_mask: logical block size - 1
 * @block_shift: its logarithm
 * @dma_mask: DMA alignment - 1
 * @capacity_bytes: size of the disk
 * @features: CHARIO_FEATURE_*
 * @medium: what it stands for, see core/medium.h
 * @obstacles: 0 while nothing stands between a command and a queue that is live: a
 *	file that may change blocks of the medium in part, @removed, or a back end
 *	that submits; looked at under the lock of a queue
 * @counters: per CPU
 * @deadline: default deadline, jiffies
 * @deadline_ms: the same, as it was set
 * @recovery_age: how long the drive has a request before recovery begins, at least;
 *	jiffies
 * @recovery_age_ms: the same, as it was set
 * @completion: default &enum chario_completion
 * @spin_ns: default for CHARIO_COMPLETION_SPIN
 * @any_size: files that are opened from now on take calls of any size
 * @removed: the drive has gone, or what the disk stands for is not there any more
 * @control: CHARIO_CONTROL_* bits of all reads and writes; set by the back end
 * @last_error: errno of the last failed command, 0 for none
 * @buffer_lock: protects @buffers, and what it is to be mapped
 * @buffers: all buffers of all open files
 * @cmb: the drive's controller memory, or NULL
 * @dev: in class chario
 * @cdev: the node
 * @index: N
 * @backend: who serves it
 * @drive: what it shares with the other disks of its device
 * @max_command_bytes: upper limit of limits.command_bytes
 * @command_limit: &enum chario_command_limit, what it comes from
 * @max_mapping_bytes: what the DMA layer maps in one piece
 * @physical_block_bytes: see &struct chario_info
 * @write_alignment_bytes: see &struct chario_info
 * @deallocate_alignment_bytes: see &struct chario_info
 * @optimal_write_bytes: see &struct chario_info
 * @atomic_write_bytes: what the drive promises of one command, see &struct
 *	chario_info
 * @namespace_id: see &struct chario_info
 * @medium_node: on the list of the disks of @medium
 * @is_shared: other disks may stand for the same
 * @wwid: name of what it stands for, as Linux's driver has it; "" for none
 * @serial: see &struct chario_info
 * @model: see &struct chario_info
 * @firmware: see &struct chario_info
 */
struct chario_device {
	struct chario_queue **irq_queue;
	struct chario_queue **poll_queue;
	struct chario_split_limits limits;
	u32 single_bytes;
	u32 block_mask;
	u32 block_shift;
	u32 dma_mask;
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
	struct mutex buffer_lock; /* buffers, and what it is to be mapped */
	struct list_head buffers;
	struct chario_cmb *cmb;

	struct device dev;
	struct cdev cdev;
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
	u32 namespace_id;
	struct list_head medium_node;
	bool is_shared;
	/* The longest is "nvme.", a vendor, serial and model in digits, and a number. */
	char wwid[144];
	char serial[24];
	char model[48];
	char firmware[16];
};

/* The limits of a disk, as they are now. */
static inline void chario_device_get_limits(const struct chario_device *cio,
					    struct chario_split_limits *limits)
{
	limits->command_bytes = READ_ONCE(cio->limits.command_bytes);
	limits->chunk_bytes = READ_ONCE(cio->limits.chunk_bytes);
	limits->boundary_bytes = cio->limits.boundary_bytes;
}

#define to_chario_device(d) container_of(d, struct chario_device, dev)

/* Limits of what users may set. */
#define CHARIO_DEADLINE_MIN_NS	NSEC_PER_MSEC
#define CHARIO_DEADLINE_MAX_NS	(3600ULL * NSEC_PER_SEC)
#define CHARIO_SPIN_MAX_NS	NSEC_PER_SEC

/* CHARIO_PIN_* bits that there are. */
#define CHARIO_NR_PINS		7

/**
 * struct chario_device_face - what the world sees of every disk
 * @fops: what its node can do
 * @groups: its attributes
 * @groups_with_health: the same for a disk that can tell of its health
 */
struct chario_device_face {
	const struct file_operations *fops;
	const struct attribute_group **groups;
	const struct attribute_group **groups_with_health;
};

/* core/device.c */
int chario_device_class_init(const struct chario_device_face *seen);
void chario_device_class_exit(void);
struct chario_device *chario_device_create(const struct chario_backend *be,
					   struct chario_drive *drive,
					   struct device *parent);
int chario_device_configure(struct chario_device *cio,
			    const struct chario_limits *limits);
void chario_device_set_single(struct chario_device *cio);
int chario_device_register(struct chario_device *cio);
void chario_device_unregister(struct chario_device *cio);
void chario_device_lose(struct chario_device *cio);
unsigned int chario_device_nr_queues(const struct chario_device *cio,
				     bool polled);
const char *chario_device_state(const struct chario_device *cio);
u64 chario_device_recovery_bound_ns(const struct chario_device *cio);
void chario_device_describe(const struct chario_device *cio,
			    struct chario_info *info);

struct chario_queue *chario_device_take_queue(struct chario_device *cio,
					      struct chario_queue_create *args);
void chario_device_give_queue(struct chario_device *cio,
			      struct chario_queue *q);
void chario_device_set_deadline(struct chario_device *cio, u32 ms);
void chario_device_set_recovery_age(struct chario_device *cio, u32 ms);

/* core/pin.c */
int chario_pin_set(struct chario_device *cio, u32 *held,
		   struct chario_pin *pin);
int chario_pin_get(struct chario_device *cio, u32 held, struct chario_pin *pin);
void chario_pin_release(struct chario_device *cio, u32 *held);

bool chario_device_may_patch(const struct chario_device *cio);

/* core/counters.c */
void chario_counters_read(const struct chario_device *cio,
			  struct chario_stats *stats);

/* core/sysfs.c */
extern const struct attribute_group *chario_sysfs_groups[];
extern const struct attribute_group *chario_sysfs_groups_with_health[];

#endif /* CHARIO_CORE_DEVICE_H */
