/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The timeline: the part of <chario/uapi.h>, which includes it, that is about
 * the stages of requests and the memory in which they are recorded.
 *
 * There is a ring for each queue of the drive, a flight recorder: the newest
 * record overwrites the oldest.  Beside it stands a ring of tags that
 * applications write by themselves, without a system call.  All times are
 * CLOCK_MONOTONIC, read while the ring is locked: what clock_gettime(2) gives
 * is comparable without error but for the resolution of the clock.
 */
#ifndef _CHARIO_UAPI_TIMELINE_H
#define _CHARIO_UAPI_TIMELINE_H

#include <linux/types.h>

/* Limits of &struct chario_timeline_open. */
#define CHARIO_TIMELINE_RECORDS_MIN	64
#define CHARIO_TIMELINE_RECORDS_MAX	(1U << 20)
#define CHARIO_TIMELINE_BYTES_MAX	(1U << 30)

/* Flags of &struct chario_timeline_open. */
#define CHARIO_TIMELINE_BEGIN_FROZEN	(1U << 0) /* until it is told to run */

/**
 * struct chario_timeline_open - record the stages of requests
 *	(CHARIO_IOC_TIMELINE_OPEN)
 * @size: as in &struct chario_info
 * @flags: CHARIO_TIMELINE_* bits
 * @records: that each ring holds; a power of two,
 *	CHARIO_TIMELINE_RECORDS_MIN to CHARIO_TIMELINE_RECORDS_MAX; all rings
 *	and tags together take up to CHARIO_TIMELINE_BYTES_MAX
 * @tags: that the ring of tags holds; a power of two as @records, or 0
 * @stop_above_ns: freeze at the first request that took longer from enter to
 *	finish; 0: never
 * @reserved: zero
 *
 * The result is a new file descriptor, closed on exec, with a life of its own:
 * it outlives the file it was asked for and the disk.  It answers mmap(2),
 * poll(2), which tells with POLLIN that the rings are frozen, and
 * CHARIO_IOC_TIMELINE_CONTROL.  Records are made from here on, of all who use
 * the disk, until the descriptor and its mappings are gone.  Its memory counts
 * against RLIMIT_MEMLOCK.
 *
 * Errors: EBUSY when there is one already, of this disk or another of the same
 * drive; ENOMEM when RLIMIT_MEMLOCK does not allow it, or no memory is left;
 * EMFILE, ENFILE; EOPNOTSUPP when the kernel has no tracepoints.
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
 * enum chario_timeline_command - what a timeline is told
 * @CHARIO_TIMELINE_RUN: go on recording, what is there stays until it is
 *	overwritten
 * @CHARIO_TIMELINE_FREEZE: record no more
 */
enum chario_timeline_command {
	CHARIO_TIMELINE_RUN = 0,
	CHARIO_TIMELINE_FREEZE = 1,
};

/**
 * struct chario_timeline_control - tell a timeline something
 *	(CHARIO_IOC_TIMELINE_CONTROL, on the descriptor of the timeline)
 * @size: as in &struct chario_info
 * @command: &enum chario_timeline_command
 * @stop_above_ns: as in &struct chario_timeline_open, from now on
 * @reserved: zero
 */
struct chario_timeline_control {
	__u32 size;
	__u32 command;
	__aligned_u64 stop_above_ns;
	__aligned_u64 reserved;
};

/**
 * enum chario_timeline_frozen - why a timeline does not record
 * @CHARIO_TIMELINE_RUNNING: it does
 * @CHARIO_TIMELINE_TOLD: it was told so
 * @CHARIO_TIMELINE_STOPPED: a request took longer than @stop_above_ns
 */
enum chario_timeline_frozen {
	CHARIO_TIMELINE_RUNNING = 0,
	CHARIO_TIMELINE_TOLD = 1,
	CHARIO_TIMELINE_STOPPED = 2,
};

/**
 * struct chario_timeline_header - the beginning of the mapping
 * @size: of this struct
 * @record_bytes: from one record to the next
 * @nr_rings: one for each queue of the drive
 * @records: that each holds, a power of two
 * @rings_offset: where the first &struct chario_timeline_ring is
 * @ring_bytes: from one ring to the next
 * @rings_bytes: length of the mapping at offset 0, which cannot be written to
 * @tags_offset: offset for mmap(2) of &struct chario_timeline_tags, which can
 * @tags_bytes: its length; 0: there are none
 * @tags: that it holds
 * @clock_id: of all times: CLOCK_MONOTONIC
 * @disk: the N of /dev/chardiskN
 * @frozen: &enum chario_timeline_frozen
 * @record_cost_ns: what one record costs, tried out before recording began
 * @stop_queue: the request that stopped it: the number of its ring
 * @stop_request: and its name there
 * @reserved: zero
 * @begin_ns: when the timeline was opened
 * @stop_above_ns: as it was set
 * @stop_ns: when the request that stopped it finished
 * @stop_duration_ns: what it took from enter to finish
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

/* A record that is of no request alone: enter, doorbell, irq. */
#define CHARIO_TIMELINE_NO_REQUEST	0xffffffffU

/**
 * struct chario_timeline_record - a request has reached a stage
 * @time_ns: when; never falls within a ring
 * @stage: &enum chario_stage
 * @op: &enum chario_transfer_op
 * @cpu: where
 * @disk: the N of /dev/chardiskN
 * @task: thread in the initial PID namespace; of split to post and of enter
 *	the caller's
 * @queue: number of the ring
 * @request: names the request among those of its queue from its first split
 *	(flush: post) to its finish, then the next one; CHARIO_TIMELINE_NO_REQUEST
 *	for enter, doorbell and irq, and for the finish of a caller who has given
 *	up
 * @command: the same for the command, where the stage is one of a command: the
 *	NVMe command identifier
 * @offset: on the disk, of the call or of the command
 * @bytes: length of the call (enter, as it was asked for) or command
 * @result: finish: bytes or -errno; reap: 0 or -errno
 * @reserved: zero
 *
 * A call has an enter, in the ring of the interrupt queue of its CPU, and then
 * a finish for each of its chunks; one that is refused has no finish.
 * Doorbell and irq are of a queue: they belong to what has been posted to it
 * since the last doorbell, and to what is reaped until the next irq.
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
 * struct chario_timeline_ring - what stands before the records of a ring
 * @head: records that have been made; record n stands in place n modulo
 *	@records of &struct chario_timeline_header
 * @polled: its queue is polled
 * @reserved: zero
 *
 * Record n can be there while n < @head and n + records > @head.  Whoever
 * reads copies it, then looks at @head again, in this order: n + records >
 * @head still holds when the copy is good.
 */
struct chario_timeline_ring {
	__aligned_u64 head;
	__u32 polled;
	__u32 reserved[13];
};

/**
 * struct chario_timeline_tag - a tag of the application's own
 * @sequence: number of the tag + 1, written last
 * @time_ns: when
 * @value: what
 * @reserved: zero
 */
struct chario_timeline_tag {
	__aligned_u64 sequence;
	__aligned_u64 time_ns;
	__aligned_u64 value;
	__aligned_u64 reserved;
};

/**
 * struct chario_timeline_tags - the ring of tags; the kernel never looks at it
 * @head: tags that have been begun; the place of a tag is taken by adding 1
 * @tags: that it holds, a power of two; the first &struct chario_timeline_tag
 *	follows
 * @reserved: zero
 */
struct chario_timeline_tags {
	__aligned_u64 head;
	__u32 tags;
	__u32 reserved[5];
};

#endif /* _CHARIO_UAPI_TIMELINE_H */
