/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The application binary interface of CharIO, the only one.
 *
 * A CharIO disk is a character device, /dev/chardiskN.  It answers read(2),
 * write(2), lseek(2), fsync(2) and io_uring like a disk, the block-device
 * ioctls BLKGETSIZE64, BLKSSZGET, BLKPBSZGET, BLKIOMIN, BLKIOOPT and BLKROGET,
 * and the ioctls below.  Programs use libchario, which hides them.
 *
 * Rules that hold for every ioctl here
 *
 * - The argument points to a struct whose first member, @size, the caller
 *   sets to sizeof(struct) as it was compiled.  A kernel that knows a longer
 *   struct fills (and reads) only that much; a kernel that knows a shorter one
 *   accepts the call when the part it does not know is zero.
 * - Times are nanoseconds of CLOCK_MONOTONIC, sizes are bytes, unless the
 *   name of the member says otherwise.
 * - Reserved members and unknown flag bits must be zero.
 *
 * Errors that every ioctl here can give
 *
 *   ENOTTY      the kernel does not know this command
 *   E2BIG       a member that the kernel does not know is not zero
 *   EINVAL      @size is below the first version of the struct, or a value
 *               is out of its range
 *   EOPNOTSUPP  a known member asks for what this disk or kernel cannot do
 *   EFAULT      the argument does not point to accessible memory
 *   ENODEV      the disk has been removed
 *
 * Change log
 *
 *   1  CHARIO_IOC_INFO, CHARIO_IOC_STATS, CHARIO_IOC_GET_FILE,
 *      CHARIO_IOC_SET_FILE
 *   2  CHARIO_IOC_BUFFER_CREATE, CHARIO_IOC_BUFFER_DESTROY,
 *      CHARIO_IOC_BUFFER_SYNC, CHARIO_IOC_BUFFER_EXPORT,
 *      CHARIO_IOC_TRANSFER, mmap(2) of buffers, CHARIO_IOC_QUEUE_CREATE;
 *      CHARIO_FILE_ANY_SIZE;
 *      CHARIO_IOC_GET_PIN, CHARIO_IOC_SET_PIN, CHARIO_IOC_HEALTH,
 *      CHARIO_FEATURE_PIN, CHARIO_FEATURE_HEALTH;
 *      CHARIO_IOC_TIMELINE_OPEN, CHARIO_IOC_TIMELINE_CONTROL;
 *      the last four members of struct chario_info, and command_limit, which
 *      was reserved; CHARIO_IOC_SETTLE
 */
#ifndef _CHARIO_UAPI_H
#define _CHARIO_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define CHARIO_ABI_VERSION	2

#define CHARIO_IOC_TYPE		0xC4

#define CHARIO_IOC_INFO		_IO(CHARIO_IOC_TYPE, 0x00)
#define CHARIO_IOC_STATS	_IO(CHARIO_IOC_TYPE, 0x01)
#define CHARIO_IOC_GET_FILE	_IO(CHARIO_IOC_TYPE, 0x02)
#define CHARIO_IOC_SET_FILE	_IO(CHARIO_IOC_TYPE, 0x03)
#define CHARIO_IOC_BUFFER_CREATE	_IO(CHARIO_IOC_TYPE, 0x10)
#define CHARIO_IOC_BUFFER_DESTROY	_IO(CHARIO_IOC_TYPE, 0x11)
#define CHARIO_IOC_BUFFER_SYNC	_IO(CHARIO_IOC_TYPE, 0x12)
#define CHARIO_IOC_BUFFER_EXPORT	_IO(CHARIO_IOC_TYPE, 0x13)
#define CHARIO_IOC_TRANSFER	_IO(CHARIO_IOC_TYPE, 0x20)
#define CHARIO_IOC_SETTLE	_IO(CHARIO_IOC_TYPE, 0x21)
#define CHARIO_IOC_QUEUE_CREATE	_IO(CHARIO_IOC_TYPE, 0x30)
#define CHARIO_IOC_GET_PIN	_IO(CHARIO_IOC_TYPE, 0x40)
#define CHARIO_IOC_SET_PIN	_IO(CHARIO_IOC_TYPE, 0x41)
#define CHARIO_IOC_HEALTH	_IO(CHARIO_IOC_TYPE, 0x42)
#define CHARIO_IOC_TIMELINE_OPEN	_IO(CHARIO_IOC_TYPE, 0x50)
#define CHARIO_IOC_TIMELINE_CONTROL	_IO(CHARIO_IOC_TYPE, 0x51)

/**
 * enum chario_stage - the stages of a request, in order
 * @CHARIO_STAGE_ENTER: the call has reached the front end
 * @CHARIO_STAGE_SPLIT: the size of the next device command is known; once more
 *	when its memory was not there and has been waited for, and MAP and QUEUE too
 *	for those in front of it where the caller does not wait
 * @CHARIO_STAGE_MAP: its memory is pinned and mapped for DMA
 * @CHARIO_STAGE_QUEUE: the device command is built
 * @CHARIO_STAGE_POST: it stands in the submission queue
 * @CHARIO_STAGE_DOORBELL: the device is about to be told
 * @CHARIO_STAGE_IRQ: the device's interrupt has arrived (absent when polled)
 * @CHARIO_STAGE_REAP: the completion has been taken from the queue
 * @CHARIO_STAGE_UNMAP: the memory is unmapped and unpinned
 * @CHARIO_STAGE_FINISH: the result is on its way to the caller
 *
 * The same ten names, without prefix, are the names of the tracepoints.
 */
enum chario_stage {
	CHARIO_STAGE_ENTER,
	CHARIO_STAGE_SPLIT,
	CHARIO_STAGE_MAP,
	CHARIO_STAGE_QUEUE,
	CHARIO_STAGE_POST,
	CHARIO_STAGE_DOORBELL,
	CHARIO_STAGE_IRQ,
	CHARIO_STAGE_REAP,
	CHARIO_STAGE_UNMAP,
	CHARIO_STAGE_FINISH,
};

/**
 * enum chario_completion - how a caller learns that its request is done
 * @CHARIO_COMPLETION_DEFAULT: as the disk is set (sysfs ``completion``);
 *	only in &struct chario_file_options
 * @CHARIO_COMPLETION_IRQ: sleep until the interrupt
 * @CHARIO_COMPLETION_POLL: look at the completion queue until it is there,
 *	never sleep; a single call asks for it with RWF_HIPRI
 * @CHARIO_COMPLETION_SPIN: look for a bounded time, then sleep
 */
enum chario_completion {
	CHARIO_COMPLETION_DEFAULT = 0,
	CHARIO_COMPLETION_IRQ = 1,
	CHARIO_COMPLETION_POLL = 2,
	CHARIO_COMPLETION_SPIN = 3,
};

/**
 * enum chario_command_limit - why commands can be no larger
 * @CHARIO_COMMAND_LIMIT_UNKNOWN: the module is older
 * @CHARIO_COMMAND_LIMIT_DRIVE: the drive takes no more (NVMe MDTS)
 * @CHARIO_COMMAND_LIMIT_DMA: the kernel maps no more in one piece for this drive,
 *	through bounce buffers for example
 * @CHARIO_COMMAND_LIMIT_SLOTS: the module has made no more room for a command
 *	(module parameter ``max_command_kib``)
 */
enum chario_command_limit {
	CHARIO_COMMAND_LIMIT_UNKNOWN = 0,
	CHARIO_COMMAND_LIMIT_DRIVE = 1,
	CHARIO_COMMAND_LIMIT_DMA = 2,
	CHARIO_COMMAND_LIMIT_SLOTS = 3,
};

/* Feature bits of &struct chario_info.features. */
#define CHARIO_FEATURE_POLL		(1ULL << 0) /* has queues to poll */
#define CHARIO_FEATURE_FUA		(1ULL << 1) /* durable single writes */
#define CHARIO_FEATURE_WRITE_CACHE	(1ULL << 2) /* volatile cache present */
#define CHARIO_FEATURE_READ_ONLY	(1ULL << 3) /* writes give EROFS */
#define CHARIO_FEATURE_PIN		(1ULL << 16) /* knows SET_PIN */
#define CHARIO_FEATURE_HEALTH		(1ULL << 17) /* knows HEALTH */

/**
 * struct chario_info - what a disk is and what it can do (CHARIO_IOC_INFO)
 * @size: in: size of this struct as the caller knows it; out: as the kernel
 *	does
 * @abi_version: CHARIO_ABI_VERSION of the kernel module
 * @features: CHARIO_FEATURE_* bits
 * @capacity_bytes: size of the disk
 * @logical_block_bytes: offsets and lengths are multiples of this
 * @physical_block_bytes: smallest write that costs the drive no
 *	read-modify-write, as far as it tells
 * @dma_alignment_bytes: alignment that a buffer address needs
 * @command_bytes: largest device command that a call is split into
 * @max_command_bytes: upper limit of @command_bytes for this drive and module, see
 *	@command_limit
 * @chunk_bytes: commands never cross a multiple of this, counted from the
 *	start of the call; at most two chunks of a call are in flight
 * @boundary_bytes: commands never cross a multiple of this, counted from the
 *	start of the disk (NVMe NOIOB); 0 when there is no such boundary
 * @nr_queues: queue pairs that complete by interrupt
 * @nr_poll_queues: queue pairs that are polled
 * @queue_depth: commands that one queue pair holds
 * @completion: &enum chario_completion of the disk
 * @spin_ns: how long CHARIO_COMPLETION_SPIN looks before it sleeps
 * @deadline_ns: time after which a call gives ETIMEDOUT, unless its file has
 *	a deadline of its own
 * @recovery_bound_ns: longest time from a passed deadline until the disk
 *	serves calls again or has been given up; recovery_age_ms of the disk is
 *	part of it
 * @namespace_id: NVMe namespace identifier; 0 where there is none
 * @index: the N of /dev/chardiskN
 * @backend: name of the back end, "nvme" or "loopback", ends with a NUL
 * @serial: serial number, spaces trimmed, ends with a NUL
 * @model: model number, spaces trimmed, ends with a NUL
 * @firmware: firmware revision, spaces trimmed, ends with a NUL
 * @command_limit: &enum chario_command_limit, what @max_command_bytes comes from
 * @reserved: zero
 * @write_alignment_bytes: where a write should begin and end (NVMe NPWA); 0 when
 *	the drive does not tell
 * @deallocate_alignment_bytes: the same for ranges that are given up (NPDA)
 * @optimal_write_bytes: length of writes that suits the drive best (NOWS); 0 when
 *	it does not tell
 * @atomic_write_bytes: a write of so many bytes, that begins at a multiple of
 *	them, is not torn by a power cut (NAWUPF, AWUPF, NABSPF, NABO); a command at
 *	most, and within the boundaries of the drive; 0 where nothing is promised
 */
struct chario_info {
	__u32 size;
	__u32 abi_version;
	__aligned_u64 features;
	__aligned_u64 capacity_bytes;
	__u32 logical_block_bytes;
	__u32 physical_block_bytes;
	__u32 dma_alignment_bytes;
	__u32 command_bytes;
	__u32 max_command_bytes;
	__u32 chunk_bytes;
	__u32 boundary_bytes;
	__u32 nr_queues;
	__u32 nr_poll_queues;
	__u32 queue_depth;
	__u32 completion;
	__u32 spin_ns;
	__aligned_u64 deadline_ns;
	__aligned_u64 recovery_bound_ns;
	__u32 namespace_id;
	__u32 index;
	char backend[16];
	char serial[24];
	char model[48];
	char firmware[16];
	__u32 command_limit;
	__u32 reserved;
	__u32 write_alignment_bytes;
	__u32 deallocate_alignment_bytes;
	__u32 optimal_write_bytes;
	__u32 atomic_write_bytes;
};

/**
 * struct chario_stats - what has happened so far (CHARIO_IOC_STATS)
 * @size: as in &struct chario_info
 * @reserved: zero
 * @read_commands: device commands of kind read that have been posted
 * @write_commands: of kind write
 * @flush_commands: of kind flush
 * @read_bytes: bytes that read calls have delivered
 * @write_bytes: bytes that write calls have delivered
 * @errors: device commands that ended with an error status
 * @timeouts: requests that passed their deadline
 * @interrupted: requests whose caller was killed while they were in flight
 * @aborts: abort commands sent to the drive, all disks of the controller
 * @resets: resets of the controller, but for waking up, all disks of the controller
 * @sq_doorbells: writes to submission doorbells, all disks of the controller
 * @cq_doorbells: writes to completion doorbells, all disks of the controller
 * @interrupts: interrupts that found a completion, all disks of the controller
 * @late_reaps: completions whose interrupt never came and that the watchdog
 *	found, all disks of the controller
 */
struct chario_stats {
	__u32 size;
	__u32 reserved;
	__aligned_u64 read_commands;
	__aligned_u64 write_commands;
	__aligned_u64 flush_commands;
	__aligned_u64 read_bytes;
	__aligned_u64 write_bytes;
	__aligned_u64 errors;
	__aligned_u64 timeouts;
	__aligned_u64 interrupted;
	__aligned_u64 aborts;
	__aligned_u64 resets;
	__aligned_u64 sq_doorbells;
	__aligned_u64 cq_doorbells;
	__aligned_u64 interrupts;
	__aligned_u64 late_reaps;
};

/* Flags of &struct chario_file_options. */
#define CHARIO_FILE_ANY_SIZE	(1U << 0) /* calls need not be whole blocks */

/**
 * struct chario_file_options - what holds for one open file
 *	(CHARIO_IOC_GET_FILE, CHARIO_IOC_SET_FILE)
 * @size: as in &struct chario_info
 * @completion: &enum chario_completion; EOPNOTSUPP where the disk has no
 *	queue to poll and polling is asked for
 * @deadline_ns: 0 for the disk's own, else 1 ms to 1 hour
 * @spin_ns: for CHARIO_COMPLETION_SPIN; 0 for the disk's own, else up to 1 s
 * @flags: CHARIO_FILE_* bits
 *
 * ANY_SIZE stays until the file is closed: EBUSY without it from then on, and
 * EBUSY for a buffer, since transfers of buffers are not gathered; EBUSY with it
 * for a file that has one.  ENOMEM when there is no memory for it, or
 * RLIMIT_MEMLOCK does not allow it: 256 KiB count, or 128 KiB where the file is
 * only read, as for buffers.  EOPNOTSUPP where a queue holds one command only
 * (module parameter ``queue_depth``).
 */
struct chario_file_options {
	__u32 size;
	__u32 completion;
	__aligned_u64 deadline_ns;
	__u32 spin_ns;
	__u32 flags;
};

/**
 * enum chario_buffer_kind - whose memory a buffer is
 * @CHARIO_BUFFER_REGISTERED: the caller's: heap, huge pages, shared memory;
 *	pinned once
 * @CHARIO_BUFFER_POOL: the module's: zeroed, near the drive (NUMA), in as few
 *	pieces as there are; stays until neither buffer nor mapping is left
 * @CHARIO_BUFFER_WINDOW: physical memory outside System RAM, inside a range that
 *	the administrator has opened (module parameter ``windows``); needs
 *	CAP_SYS_RAWIO
 * @CHARIO_BUFFER_DMABUF: another driver's, by the file descriptor of a dma-buf,
 *	which may be closed afterwards
 * @CHARIO_BUFFER_CMB: inside the drive, its controller memory; zeroed.  A reset of
 *	the drive, which a call that has timed out may need, leaves it undefined
 *
 * All kinds but WINDOW count against RLIMIT_MEMLOCK, of the user over all of its
 * processes: REGISTERED and CMB with their length, POOL until its mappings are
 * gone too, DMABUF with the length of the whole dma-buf, each time that it is
 * imported.  With CAP_IPC_LOCK there is no limit.
 */
enum chario_buffer_kind {
	CHARIO_BUFFER_REGISTERED = 1,
	CHARIO_BUFFER_POOL = 2,
	CHARIO_BUFFER_WINDOW = 3,
	CHARIO_BUFFER_DMABUF = 4,
	CHARIO_BUFFER_CMB = 5,
};

/* Flags of &struct chario_buffer_create. */
#define CHARIO_BUFFER_SOURCE	(1U << 0) /* is never read into */
#define CHARIO_BUFFER_STREAMING	(1U << 1) /* its user syncs it */

/**
 * struct chario_buffer_create - memory that is mapped once
 *	(CHARIO_IOC_BUFFER_CREATE)
 * @size: as in &struct chario_info
 * @kind: &enum chario_buffer_kind
 * @flags: CHARIO_BUFFER_* bits
 * @id: out: what calls name the buffer by, through this open file only
 * @address: of the first byte, in user space and a multiple of
 *	dma_alignment_bytes (REGISTERED), or physical and a multiple of the page
 *	(WINDOW); else 0
 * @bytes: length; a multiple of dma_alignment_bytes, or of the page (WINDOW), not
 *	0, up to 2^40
 * @mmap_offset: out: where mmap(2) of the open file maps the buffer; 0 where it
 *	cannot be mapped (REGISTERED, DMABUF, CMB)
 * @extents: out: pieces that the memory has for the device
 * @fd: of the dma-buf (DMABUF); else 0
 * @reserved: zero
 *
 * A buffer belongs to the open file, and goes with its last close.  mmap(2)
 * takes MAP_SHARED, @mmap_offset, and any length up to that of the buffer, or
 * gives EINVAL; the mapping is cached, of a WINDOW uncached, and keeps the memory
 * when buffer and drive have gone.
 *
 * Memory is coherent: what the CPU writes is what the drive reads, and the other
 * way round, with nothing to be done.  Where it cannot be, because DMA is not
 * cache-coherent or goes through bounce buffers, only CHARIO_BUFFER_STREAMING
 * is allowed: the memory is the drive's from creation on, and
 * CHARIO_IOC_BUFFER_SYNC hands it over.  Elsewhere, and for the other kinds, it
 * changes nothing.
 *
 * Errors: EFAULT when the memory is not accessible, or cannot be written to and
 * CHARIO_BUFFER_SOURCE is not set, or is of a kind that cannot be pinned for
 * long; ENOMEM when RLIMIT_MEMLOCK does not allow it, or no memory is left;
 * EBUSY when the file is one of any size; ENOSPC when it has 65,535 buffers;
 * EOPNOTSUPP where the memory would have to be synced and
 * CHARIO_BUFFER_STREAMING is not set, or where the disk has no DMA (WINDOW);
 * EPERM without CAP_SYS_RAWIO (WINDOW); ENXIO where no open range has all of the
 * memory (WINDOW); EBADF when @fd is not open, EINVAL when it is not a dma-buf,
 * is shorter, or has pieces that do not fit together in pages, EOPNOTSUPP when
 * its exporter refuses the drive (DMABUF); EOPNOTSUPP when the drive has no
 * controller memory (CMB); EIO when the DMA layer refuses the memory; EINTR when
 * the caller was killed.
 *
 * A buffer of kind DMABUF whose exporter goes has no bytes from then on:
 * transfers give EINVAL.
 */
struct chario_buffer_create {
	__u32 size;
	__u32 kind;
	__u32 flags;
	__u32 id;
	__aligned_u64 address;
	__aligned_u64 bytes;
	__aligned_u64 mmap_offset;
	__u32 extents;
	__s32 fd;
	__u32 reserved[2];
};

/**
 * struct chario_buffer_destroy - give a buffer back (CHARIO_IOC_BUFFER_DESTROY)
 * @size: as in &struct chario_info
 * @id: the buffer
 *
 * Ends when the device can no longer touch the memory: transfers that are in
 * flight are waited for.  The name is gone at once.  It does so on a disk that
 * has been removed, too.
 *
 * Errors: ENOENT when there is no such buffer; EINTR when the caller was killed
 * while it waited: the memory is let go when the transfers have ended.
 */
struct chario_buffer_destroy {
	__u32 size;
	__u32 id;
};

/**
 * enum chario_sync - whose bytes are to be
 * @CHARIO_SYNC_FOR_DEVICE: the CPU has written, a transfer comes
 * @CHARIO_SYNC_FOR_CPU: a read has ended, the CPU comes
 * @CHARIO_SYNC_IDLE: nothing is handed over: says whether the drive is done with it
 */
enum chario_sync {
	CHARIO_SYNC_FOR_DEVICE = 1,
	CHARIO_SYNC_FOR_CPU = 2,
	CHARIO_SYNC_IDLE = 3,
};

/**
 * struct chario_buffer_sync - hand bytes over between CPU and drive
 *	(CHARIO_IOC_BUFFER_SYNC)
 * @size: as in &struct chario_info
 * @id: the buffer
 * @offset: of the first byte in it
 * @bytes: length
 * @direction: &enum chario_sync
 * @reserved: zero
 *
 * Before a write from a buffer that is CHARIO_BUFFER_STREAMING, and before a
 * read into it where the CPU has written: FOR_DEVICE.  After a read: FOR_CPU.
 * No transfer of the same bytes may be in flight.  Where nothing has to be done
 * it costs a system call and nothing else.
 *
 * A transfer that gave ETIMEDOUT, another error, or less than it was asked for,
 * may still be with the drive: it can read or write the memory, and reach the
 * disk, until recovery has ended it.  IDLE says whether any transfer, or another
 * call, uses the buffer, and waits for nothing; also of a disk that has been
 * removed.
 *
 * Errors: ENOENT when there is no such buffer; EINVAL when the bytes are not
 * inside it; EBUSY of IDLE while it is in use; ENODEV of the others when the
 * disk has been removed.
 */
struct chario_buffer_sync {
	__u32 size;
	__u32 id;
	__aligned_u64 offset;
	__aligned_u64 bytes;
	__u32 direction;
	__u32 reserved;
};

/**
 * struct chario_buffer_export - hand a buffer to other drivers
 *	(CHARIO_IOC_BUFFER_EXPORT)
 * @size: as in &struct chario_info
 * @id: the buffer; of kind CMB
 * @flags: zero
 * @fd: out: file descriptor of a dma-buf, closed by exec
 *
 * Another drive imports it (CHARIO_BUFFER_DMABUF), and data go from one to the
 * other without main memory; the module parameter ``peer_to_peer`` says that the
 * chipset carries that.  The memory stays until buffer and dma-buf have gone; the
 * drive, when it goes, takes it away.
 *
 * Errors: ENOENT when there is no such buffer; EOPNOTSUPP when it is of another
 * kind; EMFILE; ENOMEM.
 */
struct chario_buffer_export {
	__u32 size;
	__u32 id;
	__u32 flags;
	__s32 fd;
};

/** enum chario_transfer_op - what a transfer does */
enum chario_transfer_op {
	CHARIO_TRANSFER_READ = 0,
	CHARIO_TRANSFER_WRITE = 1,
	CHARIO_TRANSFER_FLUSH = 2,
};

/* Flags of &struct chario_transfer. */
#define CHARIO_TRANSFER_POLL	(1U << 0) /* as RWF_HIPRI */
#define CHARIO_TRANSFER_FUA	(1U << 1) /* as RWF_DSYNC */
#define CHARIO_TRANSFER_NOWAIT	(1U << 2) /* as RWF_NOWAIT */
#define CHARIO_TRANSFER_PHYSICAL	(1U << 3) /* buffer_offset is an address */

/* Bytes that one transfer moves at most. */
#define CHARIO_TRANSFER_MAX	0x7ff00000U

/**
 * struct chario_transfer - one read or write between disk and a buffer
 *	(CHARIO_IOC_TRANSFER)
 * @size: as in &struct chario_info
 * @op: &enum chario_transfer_op; a flush has no buffer and no range
 * @flags: CHARIO_TRANSFER_* bits
 * @buffer: id of the buffer; 0 with CHARIO_TRANSFER_PHYSICAL
 * @buffer_offset: of the first byte in it, a multiple of dma_alignment_bytes;
 *	with CHARIO_TRANSFER_PHYSICAL the physical address, inside a buffer of kind
 *	WINDOW that this open file has
 * @disk_offset: of the first byte on the disk, a multiple of
 *	logical_block_bytes
 * @bytes: length, a multiple of logical_block_bytes; one call transfers up to
 *	CHARIO_TRANSFER_MAX of it
 * @deadline_ns: time after which the call gives ETIMEDOUT: 0 for that of the
 *	file, else 1 ms to 1 hour
 * @reserved: zero
 *
 * Costs the same device commands as a read or write of the same range.  The
 * result is that of pread(2) and pwrite(2): bytes that have been transferred,
 * fewer at the end of the disk, 0 behind it for a read.  A transfer of no bytes
 * is 0, whatever the buffer.
 *
 * Errors: ENOENT when there is no such buffer; EINVAL when the slice is not
 * inside the buffer or something is not aligned; EPERM for a read into a buffer
 * that is CHARIO_BUFFER_SOURCE; EBADF when the file is not open for it; ENOSPC
 * for a write behind the end of the disk; and those of pread(2) and pwrite(2) on
 * a disk.
 */
struct chario_transfer {
	__u32 size;
	__u32 op;
	__u32 flags;
	__u32 buffer;
	__aligned_u64 buffer_offset;
	__aligned_u64 disk_offset;
	__aligned_u64 bytes;
	__aligned_u64 deadline_ns;
	__aligned_u64 reserved[2];
};

/**
 * struct chario_settle - wait for transfers that have been given up
 *	(CHARIO_IOC_SETTLE)
 * @size: as in &struct chario_info
 * @reserved: zero
 * @disk_offset: byte offset on the disk
 * @bytes: from there; transfers elsewhere are not waited for
 * @deadline_ns: how long to wait: 0 for the disk's recovery bound, else 1 ms to
 *	1 hour
 *
 * A call that gave ETIMEDOUT, or whose caller was killed, may still be with the
 * drive and reach the disk later, until recovery has ended it.  When this returns
 * 0, none that was made through this open file can reach these bytes any more.
 * Who gives up a lock of the file (fcntl(2), F_OFD_SETLK) that others wait for
 * calls this before; who closes the file need not, for such transfers keep it
 * open, and so its locks.  It also works on a disk that has gone.
 *
 * Errors: ETIMEDOUT when there still was one at the deadline; EINTR when the
 * caller was killed; EINVAL when @reserved is not zero, @deadline_ns is out of its
 * range, or the bytes end beyond 2^64.
 */
struct chario_settle {
	__u32 size;
	__u32 reserved;
	__aligned_u64 disk_offset;
	__aligned_u64 bytes;
	__aligned_u64 deadline_ns;
};

/* Flags of &struct chario_queue_create. */
#define CHARIO_QUEUE_POLL	(1U << 0) /* raises no interrupt */
#define CHARIO_QUEUE_URGENT	(1U << 1) /* the drive serves it first */

/**
 * struct chario_queue_create - a queue of one's own (CHARIO_IOC_QUEUE_CREATE)
 * @size: as in &struct chario_info
 * @flags: CHARIO_QUEUE_* bits
 * @depth: commands that it is to hold, 0 for as many as possible; out: those
 *	that it holds
 * @cpu: CPU that is to take its interrupt, -1 for that of the caller, or another
 *	where the caller may not have it there; out: the CPU, or -1 when there is
 *	no interrupt or it is one that others share
 * @granted: out: the CHARIO_QUEUE_* bits that are in force
 * @id: out: identifier of the queue pair on the drive
 * @reserved: zero
 *
 * All calls of the open file use it from then on, whatever CPU they run on, but
 * for calls that sleep where it raises no interrupt: those use the CPU's own.
 * It goes with the last close of the file.  URGENT is granted where the drive
 * has the weighted round robin arbitration with an urgent class (CAP.AMS), and
 * else left out.
 *
 * Errors: EBUSY when the file has one; ENOSPC when all that were set aside are
 * taken (module parameter ``private_queues``); EAGAIN while the drive is being
 * recovered, or will be; EINVAL when there is no such CPU, or it is not online; EPERM when
 * the caller has not CAP_SYS_NICE and the CPU is isolated (isolcpus, nohz_full)
 * or one on which it may not run; EOPNOTSUPP where the disk has none; ENOMEM;
 * EINTR when the caller was killed; ETIMEDOUT when the drive does not answer, and is
 * reset, after which it can be asked again; EIO, EBUSY, EACCES or EOPNOTSUPP when it
 * refuses; ENODEV when it has gone.
 */
struct chario_queue_create {
	__u32 size;
	__u32 flags;
	__u32 depth;
	__s32 cpu;
	__u32 granted;
	__u32 id;
	__u32 reserved[2];
};

#include <chario/uapi-drive.h>

#include <chario/uapi-timeline.h>

#endif /* _CHARIO_UAPI_H */
