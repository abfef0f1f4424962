/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A recorder: from a file descriptor into a stream, until one of them ends.
 *
 * The descriptor gives a stream of bytes, which is cut into records, or datagrams, each of
 * which is a record.  What comes is read straight into the memory of the stream, which the
 * drive fetches.  Where there is no room, the source waits, or what it gives is lost, counted,
 * and seen by readers.
 *
 *	struct chario_recorder recorder = { .size = sizeof(recorder), .record_bytes = 65536 };
 *
 *	err = chario_recorder_run(stream, fd, &recorder);
 *	ret = chario_stream_close(stream);
 *
 * The library handles no signal.  A signal whose handler was installed without SA_RESTART wakes
 * a recorder that waits; it then asks @progress whether to go on.
 */
#ifndef CHARIO_RECORDER_H
#define CHARIO_RECORDER_H

#include <stdint.h>

#include <chario/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of &struct chario_recorder. */
#define CHARIO_RECORDER_DATAGRAMS (1U << 0) /* a socket, each of whose datagrams is a record */
#define CHARIO_RECORDER_DROP      (1U << 1) /* where there is no room the source does not wait */

/**
 * enum chario_recorder_end - why a recorder has ended
 * @CHARIO_RECORDER_START: it has not begun: the arguments, memory
 * @CHARIO_RECORDER_SOURCE: the source has ended
 * @CHARIO_RECORDER_LIMIT: as many bytes were recorded, or for as long, as asked
 * @CHARIO_RECORDER_STOPPED: the callback has ended it
 * @CHARIO_RECORDER_FULL: the area is full
 * @CHARIO_RECORDER_READ: reading the source has failed
 * @CHARIO_RECORDER_WRITE: writing the recording has failed
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
 * chario_recorder_progress - is told how a recorder goes
 * @recorder: how far it came
 * @data: as given
 *
 * Is called after each read and each wait, and once a second at least.  It may call
 * chario_stream_get_status().
 *
 * Return: 0 to go on; anything else ends the recorder, and is its result.
 */
typedef int chario_recorder_progress(const struct chario_recorder *recorder, void *data);

/**
 * struct chario_recorder - what to record, and how far it came
 * @size: sizeof(struct chario_recorder)
 * @flags: CHARIO_RECORDER_* bits
 * @record_bytes: of a record of a stream of bytes, or the most that a datagram has; 1 to
 *	chario_stream_room_bytes()
 * @part_ns: a record that has begun is ended after this, full or not; 0 for 1 s
 * @limit_bytes: to be recorded, of datagrams until there are as many; 0 for no limit
 * @limit_ns: time to record; 0 for no limit
 * @progress: is told how it goes, or NULL
 * @data: is handed to @progress
 * @end: is filled in: &enum chario_recorder_end
 * @reserved: zero
 * @taken_bytes: is filled in: that came, recorded or not
 * @waits: is filled in: times that the source had to wait
 * @wait_ns: is filled in: how long, together
 * @longest_wait_ns: is filled in: the longest of them
 * @gaps: is filled in: times that something was lost
 * @gap_ns: is filled in: how long there was no room, together
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
 * chario_recorder_run() - record what a file descriptor gives
 * @stream: the stream; stays open
 * @fd: open for reading; stays the caller's
 * @recorder: what to record
 *
 * Datagrams that are longer than a record count as lost.  Those of a socket with SO_RXQ_OVFL
 * that the kernel had no room for do, too; those of one with SO_TIMESTAMPNS have the time when
 * they arrived.  What has been recorded is durable after chario_stream_wait() or
 * chario_stream_close().
 *
 * Context: may sleep; the caller is the producer of the stream.
 * Return: 0 with CHARIO_RECORDER_SOURCE and CHARIO_RECORDER_LIMIT; what @progress returned; or a
 * negative errno, of which @end of @recorder says what it is about: -EINVAL where a member is
 * out of its range; -ENOMEM; -ENOSPC with CHARIO_RECORDER_FULL; the errors of poll(2), read(2)
 * and recvmsg(2); and those of chario_stream_get(), such as -EPERM in a child of fork(2).
 */
int chario_recorder_run(struct chario_stream *stream, int fd, struct chario_recorder *recorder);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_RECORDER_H */
