/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A recorder: reads a file descriptor, its source, and writes a stream, until one of them
 * ends.
 *
 * The type of the descriptor decides what a record is.  A stream of bytes is cut into records:
 * a file, a pipe, a connection, a terminal, a disk.  All others give whole units, each of which
 * is a record: datagrams of a socket, packets of a pipe whose writer has set O_DIRECT, events
 * of a device or of a descriptor such as that of inotify(7), as many as one read gives.
 *
 * If the stream has no room, the source waits; or its data are lost, which is counted and
 * which readers of the stream see.
 *
 *	struct chario_recorder recorder = { .size = sizeof(recorder), .record_bytes = 65536 };
 *
 *	err = chario_recorder_run(stream, fd, &recorder);
 *	ret = chario_stream_close(stream);
 *
 * The library handles no signal.  A signal whose handler was installed without SA_RESTART wakes
 * a recorder that waits; the recorder then asks @progress whether to go on.
 */
#ifndef CHARIO_RECORDER_H
#define CHARIO_RECORDER_H

#include <stdint.h>

#include <chario/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of &struct chario_recorder. */
#define CHARIO_RECORDER_DATAGRAMS (1U << 0) /* fail unless the source is a socket of datagrams */
#define CHARIO_RECORDER_DROP      (1U << 1) /* the source never waits for room: data are lost */
#define CHARIO_RECORDER_DRAIN     (1U << 2) /* at the end, take what waits in the kernel */

/**
 * enum chario_recorder_end - the reason why a recorder has ended
 * @CHARIO_RECORDER_START: a wrong argument or no memory, before anything was read
 * @CHARIO_RECORDER_SOURCE: the end of the source
 * @CHARIO_RECORDER_LIMIT: a limit, of bytes or of time
 * @CHARIO_RECORDER_STOPPED: a result of the callback other than 0
 * @CHARIO_RECORDER_FULL: a full area
 * @CHARIO_RECORDER_READ: a failed read of the source
 * @CHARIO_RECORDER_WRITE: a failed write of the recording
 */
enum chario_recorder_end {
	CHARIO_RECORDER_START,
	CHARIO_RECORDER_SOURCE,
	CHARIO_RECORDER_LIMIT,
	CHARIO_RECORDER_STOPPED,
	CHARIO_RECORDER_FULL,
	CHARIO_RECORDER_READ,
	CHARIO_RECORDER_WRITE,
};

struct chario_recorder;

/**
 * chario_recorder_progress - function that is told of the progress of a recorder
 * @recorder: the recorder with its present counters
 * @data: the caller's argument
 *
 * The function is called after each read and each wait, and at least once a second.  It may
 * call chario_stream_get_status().
 *
 * Return: 0 to go on; any other value ends the recorder, and is its result.  With
 * CHARIO_RECORDER_DRAIN the first such value begins the drain, another one ends the drain.
 */
typedef int chario_recorder_progress(const struct chario_recorder *recorder, void *data);

/**
 * struct chario_recorder - the options of a recorder, and its result
 * @size: sizeof(struct chario_recorder)
 * @flags: CHARIO_RECORDER_* bits
 * @record_bytes: length of a record of a stream of bytes, or largest length of a datagram
 *	or a packet; 1 to chario_stream_room_bytes().  Events are read up to the latter.
 * @part_ns: time in nanoseconds after which a record that has begun ends, full or not; the
 *	next one then has the rest of its length; 0 for 1 s
 * @limit_bytes: number of bytes to take; the last datagram may exceed it; 0 for no limit
 * @limit_ns: time to record in nanoseconds; 0 for no limit
 * @progress: function that is told of the progress, or NULL
 * @data: argument of @progress
 * @end: &enum chario_recorder_end
 * @reserved: zero
 * @taken_bytes: number of bytes that came from the source, recorded or not
 * @waits: number of times that the source had to wait for room
 * @wait_ns: sum of these waits in nanoseconds
 * @longest_wait_ns: longest of these waits in nanoseconds
 * @gaps: number of times that data were lost
 * @gap_ns: sum of the times without room in which data were lost, in nanoseconds
 *
 * The caller sets the members up to @data, the library those from @end on.
 */
struct chario_recorder {
	uint32_t size;
	uint32_t flags;
	uint64_t record_bytes;
	uint64_t part_ns;
	uint64_t limit_bytes;
	uint64_t limit_ns;
	chario_recorder_progress *progress;
	void *data;
	uint32_t end;
	uint32_t reserved;
	uint64_t taken_bytes;
	uint64_t waits;
	uint64_t wait_ns;
	uint64_t longest_wait_ns;
	uint64_t gaps;
	uint64_t gap_ns;
};

/**
 * chario_recorder_run() - record the data of a file descriptor
 * @stream: the stream, which stays open
 * @fd: descriptor of the source, open for reading; it stays the caller's
 * @recorder: options and result
 *
 * Datagrams and packets that are longer than a record count as lost, so do empty ones, because
 * a record has one byte at least, and so do datagrams that the kernel had no room for, whether
 * a later datagram arrives or not; but behind the last datagram of a run that @progress or
 * @limit_ns ends only with CHARIO_RECORDER_DRAIN, because datagrams that still wait may lie
 * before the loss.  The recorder sets SO_RXQ_OVFL of the socket, and SO_TIMESTAMPNS, by which
 * records have the time when their datagrams arrived; it drops messages of the error queue.
 * Lines of /dev/kmsg that were overwritten count as lost; the kernel has no count for other
 * devices.  Recorded data are durable after chario_stream_wait() or chario_stream_close().
 *
 * The recorder looks before each read of a pipe if a packet is first.  A packet that is read
 * together with bytes before it is not told from them, and may be cut without a count.
 *
 * With CHARIO_RECORDER_DRAIN a recorder that @progress or @limit_ns ends first takes what waits
 * in the kernel: of a pipe, what is there then; of a socket, a terminal or a device, until
 * nothing waits, but no more than the queue could hold, or 16 MiB where the kernel does not
 * tell.  If @progress, a full area or an error ends the drain, what still waits counts as lost;
 * so do datagrams if the area is full, or cannot be written, before a drain has begun.
 * Files and disks have nothing that could be lost.
 *
 * The count of a socket's losses begins anew with each run: a second run on one socket counts
 * earlier losses again.  Use one run per socket.
 *
 * Context: may sleep; the caller is the producer of the stream.
 * Return: 0 with CHARIO_RECORDER_SOURCE and CHARIO_RECORDER_LIMIT; the result of @progress; or
 * a negative errno, whose reason is in @recorder->end: -EBADF if @fd is not open for reading;
 * -EINVAL if a member is out of its range; -ENOMEM; -ENOSPC with CHARIO_RECORDER_FULL;
 * -ENOTCONN if @fd is a socket that listens, of which accept(2) gives the sockets to record
 * from; -ENOTSOCK or -EPROTOTYPE if CHARIO_RECORDER_DATAGRAMS is set and @fd gives none; -EIO
 * if poll(2) reports an error of @fd that no read takes away; -ENOBUFS if there is no room to
 * look at a pipe; the errors of poll(2), read(2) and recvmsg(2); and those of
 * chario_stream_get(), such as -EPERM in a child of fork(2).
 */
int chario_recorder_run(struct chario_stream *stream, int fd, struct chario_recorder *recorder);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_RECORDER_H */
