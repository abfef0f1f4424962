/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The application binary interface of CharIO, third part: timelines, which
 * record the stages of requests in memory.  <chario/uapi.h> includes this file,
 * and states the rules.
 *
 * A timeline has a ring of records for each queue of the drive.  In a ring that
 * is full, the newest record overwrites the oldest.  One more ring holds tags,
 * which applications write themselves, without a system call.  All times are
 * CLOCK_MONOTONIC, read while the ring is locked, so that they compare with
 * those of clock_gettime(2) to the resolution of the clock.
 */
#ifndef _CHARIO_UAPI_TIMELINE_H
#define _CHARIO_UAPI_TIMELINE_H

#include <linux/types.h>

/* Limits of &struct chario_timeline_open. */
#define CHARIO_TIMELINE_RECORDS_MIN	64
#define CHARIO_TIMELINE_RECORDS_MAX	(1U << 20)
#define CHARIO_TIMELINE_BYTES_MAX	(1U << 30)

/* Flags of &struct chario_timeline_open. */
#define CHARIO_TIMELINE_BEGIN_FROZEN	(1U << 0) /* frozen until CHARIO_TIMELINE_RUN */

/**
 * struct chario_timeline_open - record the stages of requests
 *	(CHARIO_IOC_TIMELINE_OPEN)
 * @size: size of this struct, see &struct chario_info
 * @flags: CHARIO_TIMELINE_BEGIN_FROZEN, or 0
 * @records: number of records in each ring, a power of two from
 *	CHARIO_TIMELINE_RECORDS_MIN to CHARIO_TIMELINE_RECORDS_MAX; all rings
 *	and tags together take at most CHARIO_TIMELINE_BYTES_MAX
 * @tags: number of tags in the ring of tags, a power of two in the same range,
 *	or 0
 * @stop_above_ns: time from enter to finish in nanoseconds; the first request
 *	that takes longer freezes the timeline; 0: none does
 * @reserved: zero
 *
 * The ioctl returns a new file descriptor with close-on-exec, which stays valid
 * when the file of the disk has been closed and the disk has gone.  It supports
 * mmap(2), CHARIO_IOC_TIMELINE_CONTROL, and poll(2), which reports POLLIN while
 * the timeline is frozen.  The calls of all users of the disk are recorded from
 * now on, until the descriptor and its mappings are gone.  The memory counts
 * against RLIMIT_MEMLOCK.
 *
 * Errors: EINVAL if an argument is out of its range; EBUSY if this disk, or
 * another one of the same drive, has a timeline; ENOMEM if RLIMIT_MEMLOCK is
 * exceeded or no memory is left; EMFILE or ENFILE if there are too many open
 * files; EOPNOTSUPP if the kernel has no tracepoints.
 */
struct chario_timeline_open {
	__u32 size;
	__u32 flags;
	__u32 records;
	__u32 tags;
	__aligned_u64 stop_above_ns;
	__aligned_u64 reserved;
};

/**
 * enum chario_timeline_command - commands to a timeline
 * @CHARIO_TIMELINE_RUN: record; the records so far stay until they are
 *	overwritten
 * @CHARIO_TIMELINE_FREEZE: stop recording
 */
enum chario_timeline_command {
	CHARIO_TIMELINE_RUN = 0,
	CHARIO_TIMELINE_FREEZE = 1,
};

/**
 * struct chario_timeline_control - run or freeze a timeline
 *	(CHARIO_IOC_TIMELINE_CONTROL, on the descriptor of the timeline)
 * @size: size of this struct, see &struct chario_info
 * @command: &enum chario_timeline_command
 * @stop_above_ns: new value, see &struct chario_timeline_open
 * @reserved: zero
 */
struct chario_timeline_control {
	__u32 size;
	__u32 command;
	__aligned_u64 stop_above_ns;
	__aligned_u64 reserved;
};

/**
 * enum chario_timeline_frozen - the reason why a timeline does not record
 * @CHARIO_TIMELINE_RUNNING: none, it records
 * @CHARIO_TIMELINE_TOLD: CHARIO_TIMELINE_FREEZE or CHARIO_TIMELINE_BEGIN_FROZEN
 * @CHARIO_TIMELINE_STOPPED: a request took longer than @stop_above_ns of
 *	&struct chario_timeline_header
 */
enum chario_timeline_frozen {
	CHARIO_TIMELINE_RUNNING = 0,
	CHARIO_TIMELINE_TOLD = 1,
	CHARIO_TIMELINE_STOPPED = 2,
};

/**
 * struct chario_timeline_header - the start of the mapping
 * @size: size of this struct in bytes
 * @record_bytes: distance of two records in bytes
 * @nr_rings: number of rings, one for each queue of the drive
 * @records: number of records in each ring, a power of two
 * @rings_offset: offset of the first &struct chario_timeline_ring in bytes
 * @ring_bytes: distance of two rings in bytes
 * @rings_bytes: length of the mapping at offset 0 in bytes; it cannot be
 *	written to
 * @tags_offset: offset for mmap(2) of &struct chario_timeline_tags in bytes;
 *	that mapping can be written to
 * @tags_bytes: length of the mapping of tags in bytes; 0: there are no tags
 * @tags: number of tags in the ring of tags
 * @clock_id: clock of all times: CLOCK_MONOTONIC
 * @disk: the N of /dev/chardiskN
 * @frozen: &enum chario_timeline_frozen
 * @record_cost_ns: time in nanoseconds that it takes to make one record,
 *	measured before recording began
 * @stop_queue: number of the ring of the request that froze the timeline
 * @stop_request: @request of that request in &struct chario_timeline_record
 * @reserved: zero
 * @begin_ns: time at which the timeline was opened, in nanoseconds
 * @stop_above_ns: value in force, see &struct chario_timeline_open
 * @stop_ns: time at which the request that froze the timeline finished, in
 *	nanoseconds
 * @stop_duration_ns: time of that request from enter to finish, in nanoseconds
 */
struct chario_timeline_header {
	__u32 size;
	__u32 record_bytes;
	__u32 nr_rings;
	__u32 records;
	__aligned_u64 rings_offset;
	__aligned_u64 ring_bytes;
	__aligned_u64 rings_bytes;
	__aligned_u64 tags_offset;
	__aligned_u64 tags_bytes;
	__u32 tags;
	__u32 clock_id;
	__u32 disk;
	__u32 frozen;
	__u32 record_cost_ns;
	__u32 stop_queue;
	__u32 stop_request;
	__u32 reserved;
	__aligned_u64 begin_ns;
	__aligned_u64 stop_above_ns;
	__aligned_u64 stop_ns;
	__aligned_u64 stop_duration_ns;
};

/*
 * The @request of records that belong to no single request: enter, doorbell and
 * irq.
 */
#define CHARIO_TIMELINE_NO_REQUEST	0xffffffffU

/**
 * struct chario_timeline_record - a stage that a request has reached
 * @time_ns: time in nanoseconds; never decreases within a ring
 * @stage: &enum chario_stage
 * @op: &enum chario_transfer_op
 * @cpu: number of the CPU that made the record
 * @disk: the N of /dev/chardiskN
 * @task: identifier of the running thread in the initial PID namespace, 0 in an
 *	interrupt; that of the caller for enter and for split to post
 * @queue: number of the ring
 * @request: number that identifies a request among those of its queue, from its
 *	first split (post for a flush) to its finish, and is then used again;
 *	CHARIO_TIMELINE_NO_REQUEST for enter, doorbell and irq, and for the
 *	finish of a caller that has abandoned its request
 * @command: tag of the command, the low bits of its NVMe command identifier,
 *	which identifies a command in the same way; CHARIO_TIMELINE_NO_REQUEST
 *	for a stage that is not of a command
 * @offset: offset of the call or command on the disk, in bytes
 * @bytes: length of the call (for enter, as requested) or of the command, in
 *	bytes
 * @result: for finish: number of bytes or -errno; for reap: 0 or -errno
 * @reserved: zero
 *
 * A call has an enter, in the ring of the interrupt queue of its CPU, and a
 * finish for each of its chunks; a call that is refused has no finish.
 * Doorbell and irq belong to a queue: a doorbell to all commands that have been
 * posted since the last one, an irq to all that are reaped until the next one.
 */
struct chario_timeline_record {
	__aligned_u64 time_ns;
	__u8 stage;
	__u8 op;
	__u16 cpu;
	__u32 disk;
	__u32 task;
	__u32 queue;
	__u32 request;
	__u32 command;
	__aligned_u64 offset;
	__aligned_u64 bytes;
	__aligned_u64 result;
	__aligned_u64 reserved;
};

/**
 * struct chario_timeline_ring - the header of a ring, which its records follow
 * @head: number of records that have been made; record n is in place n modulo
 *	@records of &struct chario_timeline_header
 * @polled: 1 if the queue of the ring is polled, else 0
 * @reserved: zero
 *
 * Record n can be there while n < @head and n + records > @head.  A reader
 * copies the record and then reads @head, in this order: the copy is valid if n
 * + records > @head still holds.
 */
struct chario_timeline_ring {
	__aligned_u64 head;
	__u32 polled;
	__u32 reserved[13];
};

/**
 * struct chario_timeline_tag - a tag of an application
 * @sequence: number of the tag + 1, written last
 * @time_ns: time in nanoseconds
 * @value: value that the application chooses
 * @reserved: zero
 */
struct chario_timeline_tag {
	__aligned_u64 sequence;
	__aligned_u64 time_ns;
	__aligned_u64 value;
	__aligned_u64 reserved;
};

/**
 * struct chario_timeline_tags - the ring of tags, which the kernel never reads
 * @head: number of tags that have been begun; adding 1 to it reserves the place
 *	of a tag
 * @tags: number of tags in the ring, a power of two; the first &struct
 *	chario_timeline_tag follows this struct
 * @reserved: zero
 */
struct chario_timeline_tags {
	__aligned_u64 head;
	__u32 tags;
	__u32 reserved[5];
};

#endif /* _CHARIO_UAPI_TIMELINE_H */
