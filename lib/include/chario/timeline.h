/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A timeline: when requests reached their stages, and what an application
 * tagged meanwhile.
 *
 * The kernel writes records of all who use the disk into rings, one for each
 * queue, in which the newest overwrite the oldest; the application writes its
 * tags into one more, without a system call.  Both are read after the
 * experiment, or whenever it suits: reading takes nothing away.
 */
#ifndef CHARIO_TIMELINE_H
#define CHARIO_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include <chario/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct chario_timeline - a timeline that is open; its members are private */
struct chario_timeline;

/* Number of stages, see &enum chario_stage. */
#define CHARIO_TIMELINE_STAGES 10

/* The stage of a record that is a tag: its value is @result. */
#define CHARIO_TIMELINE_TAG 0xff

/* Environment variable that names the descriptor for chario_timeline_join(). */
#define CHARIO_TIMELINE_FD "CHARIO_TIMELINE_FD"

/**
 * struct chario_timeline_totals - what there is to be read
 * @records: records in the rings
 * @lost: records that have been overwritten
 * @tags: tags in their ring
 * @lost_tags: tags that have been overwritten
 */
struct chario_timeline_totals {
	uint64_t records;
	uint64_t lost;
	uint64_t tags;
	uint64_t lost_tags;
};

/**
 * struct chario_timeline_request - the stages of one request, joined
 * @first_ns: when it first reached each &enum chario_stage; 0 for a stage that
 *	it has not passed
 * @last_ns: when it last did: a request of several commands passes some stages
 *	several times
 * @offset: of its first command on the disk
 * @result: bytes or -errno
 * @op: &enum chario_transfer_op
 * @task: thread of the caller
 * @queue: number of the ring
 * @request: its name there
 * @commands: device commands that were posted
 * @polled: its queue is polled
 *
 * A call of more than one chunk is several requests with the same enter.
 */
struct chario_timeline_request {
	uint64_t first_ns[CHARIO_TIMELINE_STAGES];
	uint64_t last_ns[CHARIO_TIMELINE_STAGES];
	uint64_t offset;
	int64_t result;
	uint32_t op;
	uint32_t task;
	uint32_t queue;
	uint32_t request;
	uint32_t commands;
	uint32_t polled;
};

/**
 * struct chario_timeline_quantiles - how values are spread
 * @count: how many there are
 * @min: the least
 * @median: half of them are not above it
 * @p99: 99 % of them are not above it
 * @p999: 99.9 % are not above it
 * @max: the greatest
 * @mean: their mean
 */
struct chario_timeline_quantiles {
	uint64_t count;
	uint64_t min;
	uint64_t median;
	uint64_t p99;
	uint64_t p999;
	uint64_t max;
	uint64_t mean;
};

/**
 * chario_timeline_open() - begin to record
 * @device: of this disk; may be closed afterwards
 * @options: see &struct chario_timeline_open; @size is filled in from @size
 * @size: sizeof(*@options)
 * @timeline: where the new timeline is put; the caller gives it to
 *	chario_timeline_close()
 *
 * Context: may sleep.
 * Return: 0; -EBUSY when the drive has a timeline already; -EINVAL where a
 * number is not one that &struct chario_timeline_open allows; -ENOMEM where
 * RLIMIT_MEMLOCK does not allow it or no memory is left; -ENODEV when the disk
 * has been removed; -ENOTTY where the module is too old; -EPROTO where it is too
 * new; -E2BIG where a member that this kernel does not know is not zero; -EMFILE.
 */
int chario_timeline_open(const struct chario_device *device,
			 const struct chario_timeline_open *options, size_t size,
			 struct chario_timeline **timeline);

/**
 * chario_timeline_join() - take part in the timeline of one's parent
 * @timeline: where it is put, as by chario_timeline_open()
 *
 * ``chario timeline DISK -- PROGRAM`` runs a program that can put its tags
 * beside the stages of its requests in this way.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT when there is none: the environment variable
 * CHARIO_TIMELINE_FD is not set; -EBADF, -EPROTO where it does not name one;
 * -ENOMEM.
 */
int chario_timeline_join(struct chario_timeline **timeline);

/**
 * chario_timeline_close() - end a timeline
 * @timeline: the timeline, or NULL, which is let pass
 *
 * Recording ends when all that share it have closed it.
 *
 * Context: may sleep; no other thread may be using @timeline.
 */
void chario_timeline_close(struct chario_timeline *timeline);

/**
 * chario_timeline_fd() - the file descriptor of a timeline
 * @timeline: goes on to own it
 *
 * Return: a descriptor for poll(2), which gives POLLIN when the rings are
 * frozen.
 */
int chario_timeline_fd(const struct chario_timeline *timeline);

/**
 * chario_timeline_control() - freeze the rings, or let them run
 * @timeline: the timeline
 * @command: which of the two
 * @stop_above_ns: freeze at the first request that takes longer; 0: never
 *
 * Context: may sleep.
 * Return: 0; -EINVAL where @command is neither.
 */
int chario_timeline_control(const struct chario_timeline *timeline,
			    enum chario_timeline_command command, uint64_t stop_above_ns);

/**
 * chario_timeline_header() - how a timeline is
 * @timeline: the timeline
 *
 * Return: what the kernel says of it, which changes: whether it is frozen, and
 * by which request.
 */
const struct chario_timeline_header *chario_timeline_header(const struct chario_timeline *timeline);

/**
 * chario_timeline_tag() - note that something happens now
 * @timeline: one that has tags
 * @value: what, as the application likes
 *
 * Makes no system call, where clock_gettime(2) makes none.  Without room for
 * tags in the timeline it does nothing.
 *
 * Context: any thread; any number at a time.
 */
void chario_timeline_tag(const struct chario_timeline *timeline, uint64_t value);

/**
 * chario_timeline_get_totals() - how much there is, and how much is lost
 * @timeline: the timeline
 * @totals: filled in
 * @size: sizeof(*@totals)
 *
 * Return: 0; -EINVAL where @size is not one that a library ever had.
 */
int chario_timeline_get_totals(const struct chario_timeline *timeline,
			       struct chario_timeline_totals *totals, size_t size);

/**
 * typedef chario_timeline_visit - what is called for each record
 * @record: valid until it returns
 * @data: what the caller of chario_timeline_each() gave
 *
 * Return: 0 to go on; anything else ends the walk.
 */
typedef int chario_timeline_visit(const struct chario_timeline_record *record, void *data);

/**
 * chario_timeline_each() - visit all records and tags in the order of time
 * @timeline: the timeline; frozen, or running, which makes it lose the oldest
 * @visit: is called once for each
 * @data: handed to @visit
 *
 * Context: may sleep.
 * Return: 0; -ENOMEM; or what @visit returned when it ended the walk.
 */
int chario_timeline_each(const struct chario_timeline *timeline, chario_timeline_visit *visit,
			 void *data);

/**
 * typedef chario_timeline_request_visit - what is called for each request
 * @request: valid until it returns
 * @data: what the caller of chario_timeline_each_request() gave
 *
 * Return: 0 to go on; anything else ends the walk.
 */
typedef int chario_timeline_request_visit(const struct chario_timeline_request *request,
					  void *data);

/**
 * chario_timeline_each_request() - visit all requests that have finished
 * @timeline: the timeline
 * @visit: is called once for each, in the order in which they finished
 * @data: handed to @visit
 *
 * Requests whose first command has been overwritten, or that have not finished,
 * are left out.
 *
 * Context: may sleep.
 * Return: 0; -ENOMEM; or what @visit returned when it ended the walk.
 */
int chario_timeline_each_request(const struct chario_timeline *timeline,
				 chario_timeline_request_visit *visit, void *data);

/**
 * chario_timeline_measure() - how values are spread
 * @values: are sorted
 * @count: how many
 * @quantiles: filled in: the value of the nearest rank; all zero when there
 *	are no values
 * @size: sizeof(*@quantiles)
 *
 * Return: 0; -EINVAL where @size is not one that a library ever had.
 */
int chario_timeline_measure(uint64_t *values, size_t count,
			    struct chario_timeline_quantiles *quantiles, size_t size);

/**
 * chario_timeline_stage_name() - what a stage is called
 * @stage: &enum chario_stage, or CHARIO_TIMELINE_TAG
 *
 * Return: "enter" to "finish", "tag"; NULL for none of them.
 */
const char *chario_timeline_stage_name(unsigned int stage);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_TIMELINE_H */
