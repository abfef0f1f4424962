/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A timeline: the times at which requests reached their stages, and the tags of an
 * application.
 *
 * The kernel writes records of all users of the disk into rings, one for each queue, in
 * which the newest records overwrite the oldest.  The application writes its tags into one
 * more ring, without a system call.  Both can be read at any time: reading removes nothing.
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

/* The stage of a record that is a tag, whose value is @result. */
#define CHARIO_TIMELINE_TAG 0xff

/* Environment variable that names the descriptor for chario_timeline_join(). */
#define CHARIO_TIMELINE_FD "CHARIO_TIMELINE_FD"

/**
 * struct chario_timeline_totals - the numbers of records and tags
 * @records: number of records in the rings
 * @lost: number of records that have been overwritten
 * @tags: number of tags in their ring
 * @lost_tags: number of tags that have been overwritten
 */
struct chario_timeline_totals {
	uint64_t records;
	uint64_t lost;
	uint64_t tags;
	uint64_t lost_tags;
};

/**
 * struct chario_timeline_request - the joined stages of one request
 * @first_ns: time at which the request first reached each &enum chario_stage; 0 for a
 *	stage that it has not passed
 * @last_ns: time at which it last did so: a request of several commands passes some
 *	stages several times
 * @offset: offset of its first command on the disk in bytes
 * @result: bytes or -errno
 * @op: &enum chario_transfer_op
 * @task: thread number of the caller
 * @queue: number of the ring
 * @request: name of the request in that ring
 * @commands: number of device commands that were posted
 * @polled: 1 if its queue is polled
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
 * struct chario_timeline_quantiles - the distribution of values
 * @count: number of values
 * @min: least value
 * @median: value that half of them do not exceed
 * @p99: value that 99 % of them do not exceed
 * @p999: value that 99.9 % of them do not exceed
 * @max: greatest value
 * @mean: mean value
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
 * chario_timeline_open() - begin to record a timeline
 * @device: device of the disk; may be closed afterwards
 * @options: options; their @size is filled in from @size
 * @size: sizeof(*@options)
 * @timeline: the new timeline; the caller gives it to
 *	chario_timeline_close()
 *
 * Context: may sleep.
 * Return: 0; -EBUSY when the drive has a timeline already; -EINVAL if a number is not one
 * that &struct chario_timeline_open allows; -ENOMEM if RLIMIT_MEMLOCK is exceeded or no
 * memory is left; -ENODEV when the disk has been removed; -ENOTTY if the module is too old;
 * -EPROTO if it is too new; -E2BIG if a member that this kernel does not know is not zero;
 * -EMFILE.
 */
int chario_timeline_open(const struct chario_device *device,
			 const struct chario_timeline_open *options, size_t size,
			 struct chario_timeline **timeline);

/**
 * chario_timeline_join() - join the timeline of the parent process
 * @timeline: the joined timeline; the caller gives it to chario_timeline_close()
 *
 * ``chario timeline DISK -- PROGRAM`` runs a program that can put its tags beside the
 * stages of its requests in this way.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT when the environment variable CHARIO_TIMELINE_FD is not set; -EBADF,
 * -EPROTO if it does not name a timeline; -ENOMEM.
 */
int chario_timeline_join(struct chario_timeline **timeline);

/**
 * chario_timeline_close() - end a timeline
 * @timeline: the timeline, or NULL, which does nothing
 *
 * Recording ends when all that share it have closed it.
 *
 * Context: may sleep; no other thread may be using @timeline.
 */
void chario_timeline_close(struct chario_timeline *timeline);

/**
 * chario_timeline_fd() - the file descriptor of a timeline
 * @timeline: the timeline, which keeps owning the descriptor
 *
 * Return: a descriptor for poll(2), which gives POLLIN when the rings are
 * frozen.
 */
int chario_timeline_fd(const struct chario_timeline *timeline);

/**
 * chario_timeline_control() - freeze the rings or let them run
 * @timeline: the timeline
 * @command: command, to freeze or to run
 * @stop_above_ns: time in nanoseconds above which a request freezes the rings; 0 for
 *	never
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @command is unknown.
 */
int chario_timeline_control(const struct chario_timeline *timeline,
			    enum chario_timeline_command command, uint64_t stop_above_ns);

/**
 * chario_timeline_header() - the header of a timeline
 * @timeline: the timeline
 *
 * Return: the header that the kernel writes.  It changes: it shows if the timeline is
 * frozen, and by which request.
 */
const struct chario_timeline_header *chario_timeline_header(const struct chario_timeline *timeline);

/**
 * chario_timeline_tag() - write a tag with the present time
 * @timeline: a timeline that has tags
 * @value: any value of the application
 *
 * The call makes no system call, unless clock_gettime(2) makes one.  It does nothing if the
 * timeline has no room for tags.
 *
 * Context: any thread; several at a time.
 */
void chario_timeline_tag(const struct chario_timeline *timeline, uint64_t value);

/**
 * chario_timeline_get_totals() - count the records and tags
 * @timeline: the timeline
 * @totals: struct to fill in
 * @size: sizeof(*@totals)
 *
 * Return: 0; -EINVAL if @size is not the size of any version of the struct.
 */
int chario_timeline_get_totals(const struct chario_timeline *timeline,
			       struct chario_timeline_totals *totals, size_t size);

/**
 * typedef chario_timeline_visit - function called for each record
 * @record: the record, valid until the function returns
 * @data: argument of chario_timeline_each()
 *
 * Return: 0 to go on; anything else ends the walk.
 */
typedef int chario_timeline_visit(const struct chario_timeline_record *record, void *data);

/**
 * chario_timeline_each() - visit all records and tags in the order of time
 * @timeline: the timeline; if it is running, it may lose the oldest records
 * @visit: function called for each record and tag
 * @data: argument of @visit
 *
 * Context: may sleep.
 * Return: 0; -ENOMEM; or what @visit returned when it ended the walk.
 */
int chario_timeline_each(const struct chario_timeline *timeline, chario_timeline_visit *visit,
			 void *data);

/**
 * typedef chario_timeline_request_visit - function called for each request
 * @request: the request, valid until the function returns
 * @data: argument of chario_timeline_each_request()
 *
 * Return: 0 to go on; anything else ends the walk.
 */
typedef int chario_timeline_request_visit(const struct chario_timeline_request *request,
					  void *data);

/**
 * chario_timeline_each_request() - visit all requests that have finished
 * @timeline: the timeline
 * @visit: function called for each request, in the order in which they finished
 * @data: argument of @visit
 *
 * Requests whose first command has been overwritten, or that have not finished, are left
 * out.
 *
 * Context: may sleep.
 * Return: 0; -ENOMEM; or what @visit returned when it ended the walk.
 */
int chario_timeline_each_request(const struct chario_timeline *timeline,
				 chario_timeline_request_visit *visit, void *data);

/**
 * chario_timeline_measure() - the distribution of values
 * @values: array of values, which is sorted
 * @count: number of values
 * @quantiles: struct to fill in with values of the nearest rank; all zero if there are
 *	no values
 * @size: sizeof(*@quantiles)
 *
 * Return: 0; -EINVAL if @size is not the size of any version of the struct.
 */
int chario_timeline_measure(uint64_t *values, size_t count,
			    struct chario_timeline_quantiles *quantiles, size_t size);

/**
 * chario_timeline_stage_name() - the name of a stage
 * @stage: &enum chario_stage, or CHARIO_TIMELINE_TAG
 *
 * Return: "enter" to "finish", "tag"; NULL if @stage is unknown.
 */
const char *chario_timeline_stage_name(unsigned int stage);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_TIMELINE_H */
