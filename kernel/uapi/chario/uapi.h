/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The application binary interface of CharIO.
 *
 * A CharIO disk is a character device, /dev/chardiskN, and a region of it is one, too,
 * /dev/chardiskNpM.  It supports read(2), write(2),
 * lseek(2), fsync(2) and io_uring like a disk, the ioctls BLKGETSIZE64, BLKGETSIZE,
 * BLKSSZGET, BLKPBSZGET, BLKIOMIN, BLKIOOPT, BLKROGET and BLKFLSBUF of block devices, and
 * the ioctls below.
 * Programs use libchario, which makes these calls for them.
 *
 * Rules that hold for every ioctl here
 *
 * - The argument points to a struct.  The caller sets its first member, @size, to the
 *   size in bytes that the struct had when the caller was compiled.  A kernel whose
 *   struct is longer reads and fills in only that many bytes; a kernel whose struct is
 *   shorter accepts the call if all bytes beyond its own struct are zero.
 * - Times are nanoseconds of CLOCK_MONOTONIC, and sizes and offsets are bytes, unless
 *   the name of a member has another unit.
 * - Reserved members and unknown flag bits must be zero.
 *
 * Errors that every ioctl here can return
 *
 *   ENOTTY      the kernel does not know this command
 *   E2BIG       a byte beyond the struct that the kernel knows is not zero
 *   EINVAL      @size is smaller than the first version of the struct, a value is out
 *               of its range, or a reserved member or an unknown flag is not zero
 *   EOPNOTSUPP  this disk or kernel cannot do what a known member asks for
 *   EFAULT      the argument does not point to accessible memory
 *   ENODEV      the disk has been removed
 *
 * Of the ioctls of block devices BLKGETSIZE gives EFBIG if the number of units of 512 bytes
 * does not fit an unsigned long of the caller.  BLKFLSBUF does what fsync(2) does and gives its
 * errors; EACCES without CAP_SYS_ADMIN in the initial user namespace.
 *
 * Change log
 *
 *   1  CHARIO_IOC_INFO, CHARIO_IOC_STATS, CHARIO_IOC_GET_FILE, CHARIO_IOC_SET_FILE
 *   2  CHARIO_IOC_BUFFER_CREATE, CHARIO_IOC_BUFFER_DESTROY, CHARIO_IOC_BUFFER_SYNC,
 *      CHARIO_IOC_BUFFER_EXPORT, CHARIO_IOC_TRANSFER, mmap(2) of buffers,
 *      CHARIO_IOC_QUEUE_CREATE; CHARIO_FILE_ANY_SIZE; CHARIO_IOC_GET_PIN,
 *      CHARIO_IOC_SET_PIN, CHARIO_IOC_HEALTH, CHARIO_FEATURE_PIN,
 *      CHARIO_FEATURE_HEALTH; CHARIO_IOC_TIMELINE_OPEN, CHARIO_IOC_TIMELINE_CONTROL;
 *      the last five members of struct chario_info, and command_limit and region,
 *      which were reserved; CHARIO_IOC_SETTLE; CHARIO_IOC_SET_REGIONS, CHARIO_IOC_CONFINE;
 *      BLKGETSIZE, BLKFLSBUF
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
#define CHARIO_IOC_SET_REGIONS	_IO(CHARIO_IOC_TYPE, 0x60)
#define CHARIO_IOC_CONFINE	_IO(CHARIO_IOC_TYPE, 0x61)

/**
 * enum chario_stage - the stages of a request, in order
 * @CHARIO_STAGE_ENTER: the call has reached the front end
 * @CHARIO_STAGE_SPLIT: the size of the next device command is known.  A command whose
 *	memory was absent reaches this stage again when the memory is present; if its
 *	caller does not wait, so do all commands of the request before it, which then
 *	also reach MAP and QUEUE again
 * @CHARIO_STAGE_MAP: the memory of the command is pinned and mapped for DMA
 * @CHARIO_STAGE_QUEUE: the device command is built
 * @CHARIO_STAGE_POST: the command is in the submission queue
 * @CHARIO_STAGE_DOORBELL: the device is about to be told of new commands
 * @CHARIO_STAGE_IRQ: the device's interrupt has arrived; absent when a queue is polled
 * @CHARIO_STAGE_REAP: the completion has been taken from the queue
 * @CHARIO_STAGE_UNMAP: the memory is unmapped and unpinned
 * @CHARIO_STAGE_FINISH: the result is about to be returned to the caller
 *
 * The tracepoints have the same ten names, in lower case and without the prefix.
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
 * enum chario_completion - ways in which a caller waits for a completion
 * @CHARIO_COMPLETION_DEFAULT: the mode of the disk (sysfs ``completion``); valid only
 *	in &struct chario_file_options
 * @CHARIO_COMPLETION_IRQ: the caller sleeps until the interrupt
 * @CHARIO_COMPLETION_POLL: the caller reads the completion queue until the request has
 *	completed, and never sleeps; RWF_HIPRI selects this mode for a single call
 * @CHARIO_COMPLETION_SPIN: the caller polls for a limited time, then sleeps
 */
enum chario_completion {
	CHARIO_COMPLETION_DEFAULT = 0,
	CHARIO_COMPLETION_IRQ = 1,
	CHARIO_COMPLETION_POLL = 2,
	CHARIO_COMPLETION_SPIN = 3,
};

/**
 * enum chario_command_limit - the reason why commands can be no larger
 * @CHARIO_COMMAND_LIMIT_UNKNOWN: unknown, because the module is older
 * @CHARIO_COMMAND_LIMIT_DRIVE: the drive accepts no larger commands (NVMe MDTS)
 * @CHARIO_COMMAND_LIMIT_DMA: the kernel can map no more memory at once for this drive,
 *	for example because of bounce buffers
 * @CHARIO_COMMAND_LIMIT_SLOTS: the module has reserved no more memory for a command
 *	(module parameter ``max_command_kib``)
 */
enum chario_command_limit {
	CHARIO_COMMAND_LIMIT_UNKNOWN = 0,
	CHARIO_COMMAND_LIMIT_DRIVE = 1,
	CHARIO_COMMAND_LIMIT_DMA = 2,
	CHARIO_COMMAND_LIMIT_SLOTS = 3,
};

/* Feature bits of &struct chario_info.features. */
#define CHARIO_FEATURE_POLL		(1ULL << 0) /* the disk has queues to poll */
#define CHARIO_FEATURE_FUA		(1ULL << 1) /* a single write can be durable */
#define CHARIO_FEATURE_WRITE_CACHE	(1ULL << 2) /* there is a volatile cache */
#define CHARIO_FEATURE_READ_ONLY	(1ULL << 3) /* no open for writing: EROFS */
#define CHARIO_FEATURE_PIN		(1ULL << 16) /* the disk supports SET_PIN */
#define CHARIO_FEATURE_HEALTH		(1ULL << 17) /* the disk supports HEALTH */

/**
 * struct chario_info - the properties and features of a disk (CHARIO_IOC_INFO)
 * @size: in: size of this struct in bytes when the caller was compiled; out: its size
 *	in the kernel
 * @abi_version: CHARIO_ABI_VERSION of the kernel module
 * @features: CHARIO_FEATURE_* bits
 * @capacity_bytes: size in bytes of what the file reaches: of the disk, of its region, or
 *	of the range that it is confined to
 * @logical_block_bytes: size of a logical block in bytes; offsets and lengths are
 *	multiples of it
 * @physical_block_bytes: smallest write in bytes that causes no read-modify-write in
 *	the drive, as far as the drive reports it
 * @dma_alignment_bytes: alignment of memory addresses in bytes
 * @command_bytes: largest device command in bytes; longer calls are split into several
 * @max_command_bytes: upper limit of @command_bytes for this drive and module, in
 *	bytes, see @command_limit
 * @chunk_bytes: size of a chunk in bytes; commands never cross a multiple of it,
 *	counted from the start of the call; at most two chunks of a call are in flight
 * @boundary_bytes: distance of boundaries that commands never cross, in bytes from the
 *	start of the disk (NVMe NOIOB); 0 if there are none
 * @nr_queues: number of queue pairs that complete by interrupt
 * @nr_poll_queues: number of queue pairs that are polled
 * @queue_depth: number of commands that one queue pair holds
 * @completion: &enum chario_completion of the disk
 * @spin_ns: time in nanoseconds for which CHARIO_COMPLETION_SPIN polls before it sleeps
 * @deadline_ns: time in nanoseconds after which a call gives ETIMEDOUT, unless its file
 *	has a deadline of its own
 * @recovery_bound_ns: longest time in nanoseconds from a passed deadline until the disk
 *	serves calls again or has been given up; includes the disk's recovery_age_ms
 * @namespace_id: NVMe namespace identifier; 0 if there is none
 * @index: the N of /dev/chardiskN
 * @backend: name of the back end, "nvme" or "loopback", ends with a NUL
 * @serial: serial number without leading and trailing spaces, ends with a NUL
 * @model: model number without leading and trailing spaces, ends with a NUL
 * @firmware: firmware revision without leading and trailing spaces, ends with a NUL
 * @command_limit: &enum chario_command_limit, the reason for @max_command_bytes
 * @region: number of the region that the file is in; 0 for the whole disk
 * @write_alignment_bytes: recommended alignment of both ends of a write, in bytes (NVMe
 *	NPWA); 0 if the drive does not report it
 * @deallocate_alignment_bytes: recommended alignment of both ends of a range that is
 *	deallocated, in bytes (NPDA); 0 if the drive does not report it
 * @optimal_write_bytes: optimal length of a write in bytes (NOWS); 0 if the drive does
 *	not report it
 * @atomic_write_bytes: length in bytes of a write that a power cut does not tear if the
 *	write begins at a multiple of this length (NAWUPF, AWUPF, NABSPF, NABO); at most
 *	one command, and never across a boundary of the drive; 0 without a guarantee
 * @offset_bytes: offset on the disk, in bytes, of the first byte of the file: that of its
 *	region, or of the range that it is confined to; boundaries and alignments count
 *	from the start of the disk
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
	__u32 region;
	__u32 write_alignment_bytes;
	__u32 deallocate_alignment_bytes;
	__u32 optimal_write_bytes;
	__u32 atomic_write_bytes;
	__aligned_u64 offset_bytes;
};

/* Flags of &struct chario_file_options. */
#define CHARIO_FILE_ANY_SIZE	(1U << 0) /* calls of any size, place and alignment */
#define CHARIO_FILE_URGENT	(1U << 1) /* the block side stands back for its calls */

/**
 * struct chario_file_options - the options of an open file (CHARIO_IOC_GET_FILE,
 *	CHARIO_IOC_SET_FILE)
 * @size: size of this struct, see &struct chario_info
 * @completion: &enum chario_completion
 * @deadline_ns: deadline of calls in nanoseconds, 1 ms to 1 hour; 0 for the disk's
 * @spin_ns: time in nanoseconds for which CHARIO_COMPLETION_SPIN polls, up to 1 s; 0
 *	for the disk's
 * @flags: CHARIO_FILE_* bits
 *
 * CHARIO_FILE_URGENT can be set and cleared: while calls of such files are under way, the
 * drive has few commands of the block side (chario(4), BLOCK DISK).
 *
 * CHARIO_FILE_ANY_SIZE stays set until the file is closed.  Such a file cannot have
 * buffers, because small writes are gathered and a transfer of a buffer would not see
 * the gathered bytes.  It has memory that counts against RLIMIT_MEMLOCK like a buffer:
 * 256 KiB at most, or 128 KiB if the file is open only for reading.
 *
 * Errors of CHARIO_IOC_SET_FILE: EOPNOTSUPP for CHARIO_COMPLETION_POLL if the disk has
 * no queue to poll, and for CHARIO_FILE_ANY_SIZE if a queue holds only one command
 * (module parameter ``queue_depth``); EBUSY if CHARIO_FILE_ANY_SIZE is set and @flags
 * lack it, or if it is to be set and the file has a buffer; ENOMEM if RLIMIT_MEMLOCK is
 * exceeded or no memory is left.
 */
struct chario_file_options {
	__u32 size;
	__u32 completion;
	__aligned_u64 deadline_ns;
	__u32 spin_ns;
	__u32 flags;
};

/**
 * enum chario_buffer_kind - the origin of a buffer's memory
 * @CHARIO_BUFFER_REGISTERED: memory of the caller, such as heap, huge pages or shared
 *	memory, pinned once
 * @CHARIO_BUFFER_POOL: memory that the module allocates: zeroed, near the drive (NUMA),
 *	in as few pieces as possible; it stays allocated until both the buffer and all
 *	its mappings are gone
 * @CHARIO_BUFFER_WINDOW: physical memory outside System RAM, inside a range that an
 *	administrator has opened (module parameter ``windows``); requires CAP_SYS_RAWIO
 * @CHARIO_BUFFER_DMABUF: memory of another driver, named by the file descriptor of a
 *	dma-buf, which may be closed afterwards
 * @CHARIO_BUFFER_CMB: controller memory inside the drive, zeroed; its content is
 *	undefined after a reset of the drive, which can follow a call that timed out
 *
 * All kinds but WINDOW count against RLIMIT_MEMLOCK of the user, over all processes of
 * the user: REGISTERED and CMB with the length of the buffer; POOL likewise, until its
 * mappings are gone too; DMABUF with the length of the whole dma-buf, for each import.
 * With CAP_IPC_LOCK there is no limit.
 */
enum chario_buffer_kind {
	CHARIO_BUFFER_REGISTERED = 1,
	CHARIO_BUFFER_POOL = 2,
	CHARIO_BUFFER_WINDOW = 3,
	CHARIO_BUFFER_DMABUF = 4,
	CHARIO_BUFFER_CMB = 5,
};

/* Flags of &struct chario_buffer_create. */
#define CHARIO_BUFFER_SOURCE	(1U << 0) /* transfers only write from it */
#define CHARIO_BUFFER_STREAMING	(1U << 1) /* CHARIO_IOC_BUFFER_SYNC is used */

/**
 * struct chario_buffer_create - make a buffer, memory that is mapped once
 *	(CHARIO_IOC_BUFFER_CREATE)
 * @size: size of this struct, see &struct chario_info
 * @kind: &enum chario_buffer_kind
 * @flags: CHARIO_BUFFER_SOURCE, CHARIO_BUFFER_STREAMING, or 0
 * @id: out: identifier of the buffer for calls through this open file
 * @address: address of the first byte: in user space, a multiple of dma_alignment_bytes
 *	(REGISTERED); physical, a multiple of the page size (WINDOW); else 0
 * @bytes: length in bytes, 1 to 2^40, a multiple of dma_alignment_bytes, or of the page
 *	size (WINDOW)
 * @mmap_offset: out: offset in bytes for mmap(2) of the open file; 0 for a buffer that
 *	cannot be mapped (REGISTERED, DMABUF, CMB)
 * @extents: out: number of pieces that the memory has for the device
 * @fd: file descriptor of a dma-buf (DMABUF); else 0
 * @reserved: zero
 *
 * A buffer belongs to the open file, and is destroyed with its last close.  mmap(2)
 * requires MAP_SHARED, @mmap_offset, and a length up to that of the buffer, else it
 * gives EINVAL.  The mapping is cached, or uncached for a WINDOW, and keeps the memory
 * allocated when the buffer and the drive have gone.
 *
 * Memory is usually coherent: CPU and drive see each other's writes at once.  Where DMA
 * is not cache-coherent or goes through bounce buffers, REGISTERED and POOL need
 * CHARIO_BUFFER_STREAMING: the memory then belongs to the drive from its creation on,
 * and CHARIO_IOC_BUFFER_SYNC hands it over.  Elsewhere, and for the other kinds, the
 * flag has no effect.
 *
 * Errors of all kinds: EINVAL if an argument is out of its range or misaligned; EBUSY
 * if CHARIO_FILE_ANY_SIZE is set; ENOSPC if the file has 65,535 buffers; ENOMEM if
 * RLIMIT_MEMLOCK is exceeded or no memory is left; EIO if the DMA layer refuses the
 * memory; EMLINK if the memory is in pieces so small that max_command_bytes of it can
 * be more pieces than one command of the disk takes; EINTR when the caller was killed.
 *
 * Errors of REGISTERED: EFAULT if the memory is not accessible, is not writable without
 * CHARIO_BUFFER_SOURCE, or cannot be pinned for long.
 * Errors of REGISTERED and POOL: EOPNOTSUPP if the memory needs
 * CHARIO_BUFFER_STREAMING, and it is not set.
 * Errors of WINDOW: EPERM without CAP_SYS_RAWIO; ENXIO if no open range contains all of
 * the memory; EOPNOTSUPP if the disk has no DMA.
 * Errors of DMABUF: EBADF if @fd is not open; EINVAL if it is not a dma-buf, is shorter
 * than @bytes, or has pieces that do not fit together in pages; EOPNOTSUPP if its
 * exporter refuses the drive, or the disk has no DMA.
 * Errors of CMB: EOPNOTSUPP if the drive has no controller memory.
 *
 * When the exporter of a DMABUF takes its memory away, the buffer has no bytes from
 * then on, and its transfers give EINVAL.
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
 * struct chario_buffer_destroy - destroy a buffer (CHARIO_IOC_BUFFER_DESTROY)
 * @size: size of this struct, see &struct chario_info
 * @id: identifier of the buffer
 *
 * The identifier is invalid at once.  The call waits for transfers in flight, and
 * returns when the device can no longer access the memory.  It also works on a disk
 * that has been removed.
 *
 * Errors: ENOENT if there is no such buffer; EINTR when the caller was killed during
 * the wait, and then the memory is released when the transfers have ended.
 */
struct chario_buffer_destroy {
	__u32 size;
	__u32 id;
};

/**
 * enum chario_sync - the receiver of the bytes
 * @CHARIO_SYNC_FOR_DEVICE: the drive; the CPU has written, and a transfer follows
 * @CHARIO_SYNC_FOR_CPU: the CPU; a read from the disk has ended
 * @CHARIO_SYNC_IDLE: nobody; the call only finds out if the buffer is in use
 */
enum chario_sync {
	CHARIO_SYNC_FOR_DEVICE = 1,
	CHARIO_SYNC_FOR_CPU = 2,
	CHARIO_SYNC_IDLE = 3,
};

/**
 * struct chario_buffer_sync - hand bytes over between CPU and drive
 *	(CHARIO_IOC_BUFFER_SYNC)
 * @size: size of this struct, see &struct chario_info
 * @id: identifier of the buffer
 * @offset: offset of the first byte in the buffer, in bytes
 * @bytes: number of bytes
 * @direction: &enum chario_sync
 * @reserved: zero
 *
 * A buffer with CHARIO_BUFFER_STREAMING needs FOR_DEVICE before a write to the disk,
 * and before a read if the CPU has written to the memory; it needs FOR_CPU after a
 * read.  No transfer of the same bytes may be in flight.  On memory that is coherent
 * these do nothing.
 *
 * A transfer that gave ETIMEDOUT, another error, or fewer bytes than requested may
 * still be with the drive, and can access the memory and the disk until recovery has
 * ended it.  IDLE finds out if a transfer, or another call, uses any part of the
 * buffer.  It never waits, and also works on a disk that has been removed.
 *
 * Errors: ENOENT if there is no such buffer; EINVAL if the bytes are not inside the
 * buffer; EBUSY for IDLE while the buffer is in use; ENODEV for FOR_DEVICE and FOR_CPU
 * when the disk has been removed.
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
 * struct chario_buffer_export - export a buffer (CHARIO_IOC_BUFFER_EXPORT)
 * @size: size of this struct, see &struct chario_info
 * @id: identifier of a buffer of kind CMB
 * @flags: zero
 * @fd: out: file descriptor of a dma-buf, with close-on-exec
 *
 * Another drive imports the dma-buf (CHARIO_BUFFER_DMABUF), and data move between the
 * drives without main memory.  The module parameter ``peer_to_peer`` asserts that the
 * chipset supports that.  The memory stays allocated until buffer and dma-buf are gone;
 * a drive that is removed takes it away from the importers.
 *
 * Errors: ENOENT if there is no such buffer; EOPNOTSUPP if the buffer is of another
 * kind; EMFILE or ENFILE if there are too many open files; ENOMEM.
 */
struct chario_buffer_export {
	__u32 size;
	__u32 id;
	__u32 flags;
	__s32 fd;
};

/** enum chario_transfer_op - the operation of a transfer */
enum chario_transfer_op {
	CHARIO_TRANSFER_READ = 0,
	CHARIO_TRANSFER_WRITE = 1,
	CHARIO_TRANSFER_FLUSH = 2,
};

/* Flags of &struct chario_transfer. */
#define CHARIO_TRANSFER_POLL	(1U << 0) /* poll, like RWF_HIPRI */
#define CHARIO_TRANSFER_FUA	(1U << 1) /* durable, like RWF_DSYNC; O_DSYNC has no effect */
#define CHARIO_TRANSFER_NOWAIT	(1U << 2) /* EAGAIN, like RWF_NOWAIT */
#define CHARIO_TRANSFER_PHYSICAL	(1U << 3) /* @buffer_offset is an address */

/* The largest number of bytes that one transfer moves. */
#define CHARIO_TRANSFER_MAX	0x7ff00000U

/**
 * struct chario_transfer - read or write with a buffer, or flush (CHARIO_IOC_TRANSFER)
 * @size: size of this struct, see &struct chario_info
 * @op: &enum chario_transfer_op; for a flush @buffer, @buffer_offset, @disk_offset and
 *	@bytes are 0
 * @flags: CHARIO_TRANSFER_* bits
 * @buffer: identifier of the buffer; 0 with CHARIO_TRANSFER_PHYSICAL
 * @buffer_offset: offset of the first byte in the buffer, in bytes, a multiple of
 *	dma_alignment_bytes; with CHARIO_TRANSFER_PHYSICAL its physical address, inside
 *	a buffer of kind WINDOW of this open file
 * @disk_offset: offset of the first byte on the disk, in bytes, a multiple of
 *	logical_block_bytes
 * @bytes: number of bytes, a multiple of logical_block_bytes; one call moves up to
 *	CHARIO_TRANSFER_MAX of them
 * @deadline_ns: time in nanoseconds after which the call gives ETIMEDOUT, 1 ms to 1
 *	hour; 0 for the deadline of the file
 * @reserved: zero
 *
 * A transfer causes the same device commands as a read or write of the same range, and
 * returns what pread(2) or pwrite(2) would: the number of bytes that have been
 * transferred, which is smaller at the end of the disk, and 0 for a read behind it.  A
 * transfer of no bytes returns 0, whatever the buffer.  A flush returns 0.
 *
 * Errors: ENOENT if there is no such buffer; EINVAL if an argument is misaligned, or
 * the bytes are not inside the buffer; EPERM for a read into a buffer with
 * CHARIO_BUFFER_SOURCE; EBADF if the file is not open for the operation; ENOSPC for a
 * write behind the end of the disk; EAGAIN for CHARIO_TRANSFER_NOWAIT if the call would
 * wait; and the errors of pread(2), pwrite(2) and fsync(2) on a disk.
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
 * struct chario_settle - wait for abandoned transfers (CHARIO_IOC_SETTLE)
 * @size: size of this struct, see &struct chario_info
 * @reserved: zero
 * @disk_offset: offset on the disk in bytes
 * @bytes: number of bytes from there; transfers elsewhere are not waited for
 * @deadline_ns: longest wait in nanoseconds, 1 ms to 1 hour; 0 for the disk's recovery
 *	bound, or for its deadline if that bound is 0
 *
 * A call that gave ETIMEDOUT, or whose caller was killed, may still be with the drive,
 * and reach the disk later, until recovery has ended it.  When this ioctl returns 0, no
 * such call of this open file can reach these bytes any more.  It also works on a disk
 * that has been removed.
 *
 * Use it before releasing a lock of the file (fcntl(2), F_OFD_SETLK) that others wait
 * for.  It is not needed before closing the file: such calls keep the file open, and so
 * its locks.
 *
 * Errors: ETIMEDOUT if such a call is left at the deadline; EINTR when the caller was
 * killed; EINVAL if @reserved is not zero, @deadline_ns is out of its range, or the
 * bytes end beyond 2^64.
 */
struct chario_settle {
	__u32 size;
	__u32 reserved;
	__aligned_u64 disk_offset;
	__aligned_u64 bytes;
	__aligned_u64 deadline_ns;
};

/* Flags of &struct chario_queue_create. */
#define CHARIO_QUEUE_POLL	(1U << 0) /* the queue raises no interrupt */
#define CHARIO_QUEUE_URGENT	(1U << 1) /* the drive serves the queue first */

/**
 * struct chario_queue_create - make a queue for an open file (CHARIO_IOC_QUEUE_CREATE)
 * @size: size of this struct, see &struct chario_info
 * @flags: CHARIO_QUEUE_* bits
 * @depth: in: number of commands that the queue is to hold, 0 for as many as possible;
 *	out: number that it holds
 * @cpu: in: CPU for the interrupt; -1 for that of the caller, or for another one if the
 *	caller may not direct interrupts there; out: CPU that takes the interrupt, -1 if
 *	there is none or other queues share it
 * @granted: out: CHARIO_QUEUE_* bits in force; 0 in
 * @id: out: identifier of the queue pair on the drive; 0 in
 * @reserved: zero
 *
 * From then on all calls of the open file use this queue, on whatever CPU they run.
 * Only calls that sleep do not use a queue without an interrupt; they use that of their
 * CPU.  The queue is released with the last close of the file.  CHARIO_QUEUE_URGENT is
 * granted if the drive has weighted round robin arbitration with an urgent class
 * (CAP.AMS), else it is ignored.
 *
 * Errors: EBUSY if the file has a queue; ENOSPC if all queues that were set aside are
 * taken (module parameter ``private_queues``); EAGAIN while the drive is being
 * recovered, or is about to be; EINVAL if the CPU does not exist or is offline; EPERM
 * if the file is confined, and without CAP_SYS_NICE if the CPU is isolated (isolcpus,
 * nohz_full) or the caller may not run on it; EOPNOTSUPP if the disk has no queues to
 * set aside; ENOMEM; EINTR when the caller was killed; ETIMEDOUT if the drive does not
 * answer, and then it is reset, after which the call can be repeated; EIO, EBUSY, EACCES
 * or EOPNOTSUPP if the drive refuses; ENODEV when the drive has gone.
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

#include <chario/uapi-region.h>

#endif /* _CHARIO_UAPI_H */
